/** `./stack rollback STACK ENVIRONMENT`: an earlier environment back, which is still complete on the machine. */
import { formatProblems } from "../config/problems";
import { NAMESPACE, type StackConfig } from "../config/schema";
import { listed, nearest } from "../config/suggest";
import type { EnvironmentPlan } from "../plan/environment-steps";
import { rollbackStep } from "../plan/rollback-step";
import type { Step } from "../plan/step";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { runStep, type SshTarget } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { say } from "./say";

export interface RollbackOptions {
  /** Content address; default: the one that was in use before. */
  readonly to?: string;
  /** Only tell what is kept. */
  readonly list?: boolean;
  readonly json?: boolean;
}

/** One complete environment on the machine. */
interface Kept {
  readonly digest: string;
  /** Its lock; "-" where an older version of this program did not record it. */
  readonly lock: string;
  /** When it was last put into use, UTC. */
  readonly lastUsed: string;
  readonly current: boolean;
}

function keptOf(facts: Record<string, unknown>): Kept[] {
  const lines = Array.isArray(facts["kept"]) ? facts["kept"].map(String) : [];
  return lines.map((line) => {
    const [digest = "", lock = "-", lastUsed = ""] = line.split(" ");
    return { digest, lock, lastUsed, current: digest === facts["current"] };
  });
}

/** What the stack still declares, and how to stay with what came back. */
function wayToStay(config: StackConfig, environment: EnvironmentPlan, now: Kept): string {
  const declared = config.environments[environment.name]?.lock ?? "";
  if (now.digest === environment.digest) return "This is what the stack file declares.";
  const key = `${NAMESPACE}:environments.${environment.name}.lock`;
  const stay =
    now.lock !== "-" && now.lock !== declared
      ? `pulumi config set --path '${key}' ${now.lock} && pulumi up`
      : `take environments/${declared}/ of that time from version control, then pulumi up`;
  return [
    `The stack file still declares ${environment.digest} (lock ${declared}): the next \`up\` that runs the step of this environment`,
    "or of a service on it goes forward again, and so does `./stack drift --repair`.",
    `To stay: ${stay}`,
  ].join("\n");
}

/** The environment that the name means, or undefined when the stack file itself has errors, which are then told. */
function planned(
  file: string,
  name: string,
): { config: StackConfig; environment: EnvironmentPlan } | undefined {
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    say(formatProblems(source, problems));
    return undefined;
  }
  const environment = plan.environments.find((candidate) => candidate.name === name);
  if (environment !== undefined) return { config, environment };
  const names = plan.environments.map((candidate) => candidate.name);
  const suggestion = nearest(name, names);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  throw new UsageError(`${source} has no environment "${name}": it has ${listed(names)}${hint}`);
}

async function roll(target: SshTarget, step: Step, name: string, to: string | undefined) {
  const found = keptOf(await runStep(target, step));
  const choices = found.filter(({ current }) => !current);
  if (choices.length === 0) {
    say(
      `stack: no earlier environment of ${name} is kept\n  fix: set its earlier lock in the stack file and run \`pulumi up\`; environments.${name}.keep says how many stay`,
    );
    return undefined;
  }
  if (to !== undefined && !found.some(({ digest }) => digest === to)) {
    say(
      `stack: ${name} ${to} is not kept\n  fix: choose one of ${choices.map(({ digest }) => digest).join(", ")}`,
    );
    return undefined;
  }
  return runStep(target, step, {
    mode: "apply",
    limitSeconds: step.timeoutMinutes * 60,
    show: (text) => process.stderr.write(text),
  });
}

function print(facts: Record<string, unknown>, json: boolean): void {
  const kept = keptOf(facts);
  const lines = kept.map(
    ({ digest, lock, lastUsed, current }) => `${current ? "*" : " "} ${digest}  ${lastUsed}  ${lock}`,
  );
  process.stdout.write(json ? `${JSON.stringify({ kept }, null, 2)}\n` : `${lines.join("\n")}\n`);
}

/** Brings an earlier environment back, or lists what is kept. */
export async function rollback(stack: string, name: string, options: RollbackOptions): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const found = planned(file, name);
  if (found === undefined) return EXIT.problems;
  const { config, environment } = found;
  const step = rollbackStep(config, environment, options.to);
  const target = stackTarget(config, file);
  const only = options.list === true;
  const facts = only ? await runStep(target, step) : await roll(target, step, name, options.to);
  if (facts === undefined) return EXIT.problems;
  if (only || options.json === true) print(facts, options.json === true);
  const now = keptOf(facts).find(({ current }) => current);
  if (!only && now !== undefined) {
    say(`${name} is ${now.digest} (lock ${now.lock}), switched in ${String(facts["switchMs"])} ms`);
    say(wayToStay(config, environment, now));
  }
  return EXIT.fine;
}
