import { listed, nearest } from "../config/suggest";
import { formatProblems } from "../config/problems";
import { recoverStep } from "../plan/recover-step";
import { unitsOf } from "../plan/stack";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { runStep, SshError, type SshTarget } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { say } from "./say";
import type { Step } from "../plan/step";

/** What a recovery found and did. */
interface Outcome {
  readonly service: string;
  readonly unit: string;
  /** It serves and passed its gate, or was healthy all along. */
  readonly healthy: boolean;
  /** False when it was healthy: nothing was touched then. */
  readonly recovered: boolean;
  /** What was wrong before. */
  readonly differences: readonly string[];
  /** Who held the service's cards inside its container before, one text each. */
  readonly holders: readonly string[];
  /** Why it is not healthy. */
  readonly error?: string;
}

/** A first look may wait for a server that hangs. */
const LOOK_SECONDS = 600;

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
async function recoverOn(
  target: SshTarget,
  step: Step,
  names: { service: string; unit: string },
): Promise<Outcome> {
  const found = await runStep(target, step, { limitSeconds: LOOK_SECONDS });
  const before = { ...names, differences: texts(found["differences"]), holders: texts(found["holders"]) };
  for (const difference of before.differences) say(`found: ${difference}`);
  say(
    `holding its cards: ${before.holders.length === 0 ? "nobody in its container" : before.holders.join("; ")}`,
  );
  if (before.differences.length === 0) return { ...before, healthy: true, recovered: false };
  try {
    const limitSeconds = step.timeoutMinutes * 60;
    await runStep(target, step, { mode: "apply", limitSeconds, show: (text) => process.stderr.write(text) });
    return { ...before, healthy: true, recovered: true };
  } catch (error) {
    if (!(error instanceof SshError) || error.exitCode === EXIT.unreachable) throw error;
    const cause = /^ {2}cause: (.*)$/m.exec(error.what)?.[1] ?? error.what;
    return { ...before, healthy: false, recovered: false, error: cause };
  }
}

/** The step and its names, or undefined when the stack file itself has errors, which are then told. */
function planned(file: string, service: string) {
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    say(formatProblems(source, problems));
    return undefined;
  }
  const units = unitsOf(plan);
  const wanted = units.find(({ name }) => name === service);
  if (wanted === undefined) {
    const names = units.map(({ name }) => name);
    const suggestion = nearest(service, names);
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    throw new UsageError(`${source} has no service "${service}": it has ${listed(names)}${hint}`);
  }
  if (!wanted.service.enabled) {
    const key = "plan" in wanted ? "services" : "routers";
    say(`${source}: ${key}.${service} is not enabled, so that there is nothing to recover`);
    return undefined;
  }
  return { config, step: recoverStep(config, wanted), unit: wanted.service.unit };
}

/**
 * `./stack recover STACK SERVICE [--json]`: brings a service that passed its gate before back to health; touches its own
 * unit only. A healthy one is left alone.
 */
export async function recover(
  stack: string,
  service: string,
  options: { json?: boolean },
): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const found = planned(file, service);
  if (found === undefined) return EXIT.problems;
  const { config, step, unit } = found;
  const outcome = await recoverOn(stackTarget(config, file), step, { service, unit });
  if (options.json === true) process.stdout.write(`${JSON.stringify(outcome, null, 2)}\n`);
  else if (outcome.healthy)
    say(`${unit}: ${outcome.recovered ? "healthy again" : "healthy, nothing was touched"}`);
  return outcome.healthy ? EXIT.fine : EXIT.problems;
}
