import { readFileSync } from "node:fs";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { allowancesIn } from "./review/allowances";
import { readPreview, type PreviewReport } from "./review/preview";
import { reviewPreview } from "./review/preview-comment";
import { requireStackName } from "./stack-argument";

export interface PreviewReportOptions {
  /** File with what `pulumi preview --json` printed; `-` is standard input. */
  readonly json: string;
  /** File with the pull request's description. */
  readonly description?: string;
}

function read(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A preview that says nothing readable is a failed preview: its text is the error. */
function reportOf(text: string): PreviewReport {
  try {
    return readPreview(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { changes: [], unchanged: 0, warnings: [], errors: [message], incomplete: true };
  }
}

/**
 * `./stack preview-report STACK --json FILE [--description FILE]`: a preview as a comment for a pull request.
 *
 * Exit code 1 when the preview failed, or would replace or delete something protected that the description does not allow.
 */
export function previewReport(stack: string, options: PreviewReportOptions): ExitCode {
  requireStackName(stack);
  const allowed = options.description === undefined ? [] : allowancesIn(read(options.description));
  const { fine, refused, comment } = reviewPreview(stack, reportOf(read(options.json)), allowed);
  process.stdout.write(comment);
  for (const { name, operation } of refused)
    process.stderr.write(`error: ${stack}: ${name} is protected, and this would ${operation} it\n`);
  return fine ? EXIT.fine : EXIT.problems;
}
