/** The verbs that show a change before it is made: `render`, `changed` and `preview-report`. */
import { createRequire } from "node:module";
import type { Command } from "commander";
import type { ExitCode } from "./exit-codes";
import type { PreviewReportOptions } from "./preview-report";
import type { RenderOptions } from "./render";

const loadFile = createRequire(__filename);
const rendering = () => loadFile("./render") as typeof import("./render");
const changes = () => loadFile("./changed") as typeof import("./changed");
const previews = () => loadFile("./preview-report") as typeof import("./preview-report");

/** Adds the verbs to the command line. */
export function addReviewCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command("render <STACK>")
    .description("what a stack puts on machines, as files; no machine is asked")
    .option("--out <DIR>", "folder for the files; an earlier rendering there is replaced")
    .option(
      "--diff <BASE>",
      "print what differs from BASE, as a comment for a pull request; BASE is a revision or a folder made by --out",
    )
    .action((stack: string, options: RenderOptions) => {
      finish(rendering().render(stack, options));
    });

  program
    .command("changed <BASE>")
    .description(
      "the stacks that a change since BASE touches, and why; BASE is a revision such as origin/main",
    )
    .option("--json", "print {stacks: [{stack, because}]}")
    .action((base: string, options: { json?: boolean }) => {
      finish(changes().changed(base, options));
    });

  program
    .command("preview-report <STACK>")
    .description("a preview as a comment for a pull request; exit 1 when it would take what is protected")
    .requiredOption("--json <FILE>", "what `pulumi preview --json` printed; - is standard input")
    .option(
      "--description <FILE>",
      "the pull request's text; its lines `allow-replace: STACK/RESOURCE` count",
    )
    .action((stack: string, options: PreviewReportOptions) => {
      finish(previews().previewReport(stack, options));
    });
}
