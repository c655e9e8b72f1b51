/** A look at a whole stack: for one stack, and for each of a fleet. */
import { PROJECT_DIRECTORY } from "../../config/load";
import type { StackConfig } from "../../config/schema";
import type { Look } from "../../plan/drift/check-script";
import { allSteps, type StackPlan } from "../../plan/stack";
import { EXIT, type ExitCode } from "../exit-codes";
import type { SshTarget } from "../remote/ssh";
import { secretOf } from "../stack-secrets";
import { lookAtAll, type LookOptions } from "./look";
import { driftReport, type DriftReport } from "./report";

/** Secrets that a check compares; others are only needed to apply. */
const COMPARED = ["serviceApiKey"] as const;

/** Values of the secrets that the stack's steps compare. */
function secretsOf(file: string, plan: StackPlan): Record<string, string> {
  const asked = new Set(allSteps(plan).flatMap((step) => step.secrets));
  const wanted = COMPARED.filter((name) => asked.has(name));
  return Object.fromEntries(
    wanted.flatMap((name) => {
      const value = secretOf(file, name, PROJECT_DIRECTORY);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

export interface StackDrift {
  readonly report: DriftReport;
  readonly looks: readonly Look[];
  readonly seconds: number;
}

/** Something that differs is certain; that something could not be looked at only matters where nothing does. */
export function driftExitCode({ rows, unchecked }: DriftReport): ExitCode {
  if (rows.length > 0) return EXIT.differs;
  return unchecked.length > 0 ? EXIT.unreachable : EXIT.fine;
}

/**
 * Makes looks at a stack ready once: a repeated one reads no secrets again.
 *
 * @throws SecretError when a secret cannot be read here; the look itself throws SshError when the host cannot be reached
 */
export function driftLook(
  file: string,
  target: SshTarget,
  { host }: StackConfig,
  plan: StackPlan,
  options: Omit<LookOptions, "secrets">,
): () => Promise<StackDrift> {
  const secrets = secretsOf(file, plan);
  return async () => {
    const begun = Date.now();
    const looks = await lookAtAll(target, plan, { ...options, secrets });
    return { report: driftReport(host.node, plan, looks), looks, seconds: (Date.now() - begun) / 1000 };
  };
}
