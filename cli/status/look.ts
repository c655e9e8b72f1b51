/** One look at one stack: its report, or why there is none. */
import { formatProblems } from "../../config/problems";
import { EXIT, type ExitCode } from "../exit-codes";
import { assess } from "../findings";
import { runStep, SshError } from "../remote/ssh";
import { stackTarget } from "../remote/stack-target";
import { SecretError } from "../stack-secrets";
import { statusFacts, statusStep } from "./facts";
import { statusReport, type StatusReport } from "./report";
import type { NamedStack } from "./stacks";

export type StackStatus =
  | { readonly stack: string; readonly report: StatusReport }
  | { readonly stack: string; readonly error: string; readonly exitCode: ExitCode };

export interface Look {
  /** Ends the connection. */
  readonly signal: AbortSignal;
  /** After so long a host that does not go on counts as failed. */
  readonly limitSeconds: number;
}

/** Makes the look at one stack ready once, so that a repeated one reads neither files nor secrets again. */
export function lookAtStack({ name, file }: NamedStack): (look: Look) => Promise<StackStatus> {
  const failed = (error: string, exitCode: ExitCode): StackStatus => ({ stack: name, error, exitCode });
  const always = (status: StackStatus) => (): Promise<StackStatus> => Promise.resolve(status);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined)
    return always(failed(formatProblems(source, problems), EXIT.problems));
  if (config.host.address === "unknown")
    return always(failed("the address of its host is not recorded: host.address is unknown", EXIT.problems));
  try {
    const target = stackTarget(config, file);
    const step = statusStep(config, plan);
    return async (look) => {
      try {
        const facts = statusFacts(await runStep(target, step, look));
        return { stack: name, report: statusReport(config, plan, facts) };
      } catch (error) {
        if (error instanceof SshError) return failed(error.message, error.exitCode);
        throw error;
      }
    };
  } catch (error) {
    if (error instanceof SecretError) return always(failed(error.message, EXIT.problems));
    throw error;
  }
}

/** The worst of all: a machine that could not be reached, then problems. */
export function exitCodeOf(stacks: readonly StackStatus[]): ExitCode {
  const codes = stacks.map((status) => {
    if ("error" in status) return status.exitCode;
    return status.report.problems.length > 0 ? EXIT.problems : EXIT.fine;
  });
  return Math.max(EXIT.fine, ...codes) as ExitCode;
}

/** A look as `--json` prints it. */
export function jsonOf(stacks: readonly StackStatus[]): object {
  return {
    stacks: stacks.map((status) =>
      "error" in status
        ? { stack: status.stack, error: status.error, exitCode: status.exitCode }
        : { stack: status.stack, ...status.report },
    ),
  };
}
