import { formatProblems } from "../config/problems";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { lookAt, SshError } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { SecretError } from "./stack-secrets";
import { statusFacts, statusStep } from "./status/facts";
import { statusReport } from "./status/report";
import { statusText } from "./status/text";

/** `./stack status STACK [--json]`: how the stack is, over one SSH connection; nothing changes there. */
export async function status(stack: string, options: { json?: boolean }): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    process.stderr.write(`${formatProblems(source, problems)}\n`);
    return EXIT.problems;
  }
  try {
    const facts = statusFacts(await lookAt(stackTarget(config, file), statusStep(config, plan)));
    const report = statusReport(config, plan, facts);
    process.stdout.write(
      options.json === true ? `${JSON.stringify(report, null, 2)}\n` : `${statusText(report)}\n`,
    );
    return report.problems.length > 0 ? EXIT.problems : EXIT.fine;
  } catch (error) {
    if (!(error instanceof SshError) && !(error instanceof SecretError)) throw error;
    process.stderr.write(`stack: ${error.message}\n`);
    return error instanceof SshError ? error.exitCode : EXIT.problems;
  }
}
