import { formatProblems } from "../config/problems";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess, jsonOf } from "./findings";
import { stackFileOf } from "./stack-argument";

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** `./stack check STACK [--json]`: every problem and every rule that fires; exit code 1 when one is an error. */
export function check(stack: string, options: { json?: boolean }): ExitCode {
  const { source, problems } = assess(stackFileOf(stack));
  const errors = problems.filter((problem) => problem.severity === "error").length;
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ problems: problems.map(jsonOf) }, null, 2)}\n`);
    return errors > 0 ? EXIT.problems : EXIT.fine;
  }
  if (problems.length > 0) process.stdout.write(`${formatProblems(source, problems)}\n\n`);
  const warnings = problems.filter((problem) => problem.severity === "warning").length;
  const waiting = problems.filter((problem) => problem.blocksUp === true).length;
  const refusal = waiting > 0 ? `; \`up\` is refused until ${waiting} of them are solved` : "";
  process.stdout.write(`${source}: ${counted(errors, "error")}, ${counted(warnings, "warning")}${refusal}\n`);
  return errors > 0 ? EXIT.problems : EXIT.fine;
}
