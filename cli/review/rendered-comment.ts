import { renderedCommands } from "../../plan/render/steps";
import { counted, cuttable, fitted, marker } from "./markdown";
import { fileDiffs, type FileDiff, type Files } from "./file-diffs";

/** A stack's rendering as it was, for a comparison. */
export interface Before {
  /** Undefined when there was nothing to compare with. */
  readonly files: Files | undefined;
  /** What it is, such as `origin/main (1a2b3c4d)`. */
  readonly name: string;
  /** Why there are no files. */
  readonly reason?: string;
}

export interface RenderedDiff {
  readonly differs: boolean;
  /** Markdown for a pull request. */
  readonly comment: string;
}

interface StepChanges {
  readonly running: readonly string[];
  readonly leaving: readonly string[];
}

/** Steps whose command line is another one: exactly these run at the next `up` of a stack that is up to date. */
function stepChanges(before: Files, after: Files): StepChanges {
  const was = renderedCommands(before["steps.md"] ?? "");
  const is = renderedCommands(after["steps.md"] ?? "");
  return {
    running: [...is.keys()].filter((name) => was.get(name) !== is.get(name)),
    leaving: [...was.keys()].filter((name) => !is.has(name)),
  };
}

/** What a person reads first: containers and units before the long list of steps. */
function byInterest(a: FileDiff, b: FileDiff): number {
  const rank = ({ file }: FileDiff): number =>
    file === "steps.md" ? 2 : file.startsWith("specifications/") ? 1 : 0;
  return rank(a) - rank(b) || (a.file < b.file ? -1 : 1);
}

function names(steps: readonly string[]): string {
  return steps.map((name) => `\`${name}\``).join(", ");
}

function summary({ file, change, added, removed }: FileDiff): string {
  const what =
    change === "changed" ? `+${added} −${removed}` : `${change}, ${counted(added + removed, "line")}`;
  return `<code>${file}</code> (${what})`;
}

function stepLines(changes: StepChanges): string[] {
  const { running, leaving } = changes;
  return [
    ...(running.length === 0
      ? ["No step runs again."]
      : [`${counted(running.length, "step")} will run: ${names(running)}.`]),
    ...(leaving.length === 0
      ? []
      : [`${counted(leaving.length, "step")} will leave the stack: ${names(leaving)}.`]),
  ];
}

/** The comment that shows what a change does to the files of a stack. */
export function renderedDiff(stack: string, before: Before, after: Files): RenderedDiff {
  const diffs = fileDiffs(before.files ?? {}, after).sort(byInterest);
  const title = `### Files of \`${stack}\``;
  const differs = diffs.length > 0;
  if (!differs)
    return {
      differs,
      comment: `${marker("rendered", stack)}\n${title}: no difference\n\nCompared with ${before.name}: the same files on the machines, and no step that runs again.\n`,
    };
  const compared =
    before.files === undefined
      ? `Nothing to compare with in ${before.name}: ${before.reason ?? "there is no rendering"}. Everything is shown as new.`
      : `Compared with ${before.name}.`;
  const head = [
    `${marker("rendered", stack)}\n${title}: ${counted(diffs.length, "file")} differ${diffs.length === 1 ? "s" : ""}`,
    [...stepLines(stepChanges(before.files ?? {}, after)), compared].join("\n"),
  ].join("\n\n");
  const blocks = diffs.map((diff) => cuttable(`\`${diff.file}\``, summary(diff), "diff", diff.text));
  return {
    differs,
    comment: fitted(head, blocks, `All of it: \`./stack render ${stack} --out DIR\` on both sides.`),
  };
}
