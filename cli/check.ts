import { formatProblem, formatProblems, type Problem } from "../config/problems";
import { groupProblems, type PlannedStack } from "../plan/fleet-rules";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess, jsonOf, type Assessment } from "./findings";
import { counted } from "./review/markdown";
import { stackFileOf } from "./stack-argument";

interface Checked extends Assessment {
  /** As it was asked for. */
  readonly stack: string;
}

function told({ source, problems }: Assessment): string {
  const errors = problems.filter((problem) => problem.severity === "error").length;
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const waiting = problems.filter((problem) => problem.blocksUp === true).length;
  const refusal = waiting > 0 ? `; \`up\` is refused until ${waiting} of them are solved` : "";
  const list = problems.length > 0 ? `${formatProblems(source, problems)}\n\n` : "";
  return `${list}${source}: ${counted(errors, "error")}, ${counted(warnings, "warning")}${refusal}\n`;
}

/** What is wrong between stacks that are each right by themselves. */
function between(stacks: readonly Checked[]): Problem[] {
  return groupProblems(
    stacks.flatMap(({ stack, config, plan }): PlannedStack[] =>
      config === undefined || plan === undefined ? [] : [{ name: stack, config, plan }],
    ),
  );
}

/**
 * `./stack check STACK… [--json]`: every problem and every rule that fires, of several stacks also what is wrong between
 * them; exit code 1 when one is an error.
 */
export function check(names: readonly string[], options: { json?: boolean }): ExitCode {
  const stacks = names.map((stack): Checked => ({ stack, ...assess(stackFileOf(stack)) }));
  const shared = stacks.length > 1 ? between(stacks) : [];
  if (options.json === true) {
    const [only] = stacks;
    const report =
      stacks.length === 1 && only !== undefined
        ? { problems: only.problems.map(jsonOf) }
        : {
            stacks: stacks.map(({ stack, problems }) => ({ stack, problems: problems.map(jsonOf) })),
            between: shared.map(jsonOf),
          };
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  } else {
    process.stdout.write(stacks.map(told).join("\n"));
    if (shared.length > 0) process.stdout.write(`\nbetween them:\n${shared.map(formatProblem).join("\n")}\n`);
  }
  const all = [...stacks.flatMap(({ problems }) => problems), ...shared];
  return all.some(({ severity }) => severity === "error") ? EXIT.problems : EXIT.fine;
}
