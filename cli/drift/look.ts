/** All checks of a stack's host and containers, over one SSH connection and in one round trip. */
import { randomBytes } from "node:crypto";
import { checkScript, parseLooks, READ_AND_RUN, type Look } from "../../plan/drift/check-script";
import { allSteps, type StackPlan } from "../../plan/stack";
import type { Step } from "../../plan/step";
import { runCommand, type SshTarget } from "../remote/ssh";

export interface LookOptions {
  /** Have what is large read whole and compared by hash, not by size and time. */
  readonly hash?: boolean;
  /** Values of the secrets that steps compare. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Ends the connection when it is raised. */
  readonly signal?: AbortSignal;
}

/** A container that hangs is given up after so long; hashing reads hundreds of gigabytes. */
const CONTAINER_SECONDS = 120;
const LIMIT_SECONDS = 300;
const HASH_LIMIT_SECONDS = 6 * 3600;

/** The steps as drift runs them. */
export function checkedSteps(plan: StackPlan, hash: boolean): Step[] {
  return allSteps(plan).map((step) =>
    hash && step.script === "host/model-snapshot" ? { ...step, args: { ...step.args, hash: "yes" } } : step,
  );
}

/**
 * Looks at everything that the plan declares, and changes nothing.
 *
 * @throws SshError when the host cannot be reached
 */
export async function lookAtAll(
  target: SshTarget,
  plan: StackPlan,
  { hash = false, secrets, signal }: LookOptions,
): Promise<Look[]> {
  const mark = `look-${randomBytes(12).toString("hex")}`;
  const script = checkScript({
    steps: checkedSteps(plan, hash),
    containers: plan.containers.map(({ settings }) => settings.vmId),
    secrets,
    mark,
    limitSeconds: CONTAINER_SECONDS,
  });
  const limitSeconds = hash ? HASH_LIMIT_SECONDS : LIMIT_SECONDS;
  const { stdout } = await runCommand(target, READ_AND_RUN, script, {
    limitSeconds,
    ...(signal === undefined ? {} : { signal }),
  });
  return parseLooks(stdout, mark);
}
