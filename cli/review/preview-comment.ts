import { isAllowed } from "./allowances";
import { counted, cuttable, fenced, fitted, marker, uncut, type Block } from "./markdown";
import { table } from "../../plan/render/markdown";
import type { Change, Operation, PreviewReport } from "./preview";

export interface ReviewedPreview {
  /** False when the preview failed, or when it would take something protected that nobody allowed. */
  readonly fine: boolean;
  /** Protected resources that would be replaced or deleted, and are not allowed. */
  readonly refused: readonly Change[];
  /** Markdown for a pull request. */
  readonly comment: string;
}

/** The order in which a reviewer wants them. */
const ORDER: readonly Operation[] = ["delete", "replace", "update", "create"];

const PAST: Readonly<Record<Operation, string>> = {
  delete: "deleted",
  replace: "replaced",
  update: "updated",
  create: "created",
};

function headline(report: PreviewReport): string {
  const counts = ORDER.flatMap((operation) => {
    const count = report.changes.filter((change) => change.operation === operation).length;
    return count === 0 ? [] : [`${count} to ${operation}`];
  });
  if (counts.length > 0) return counts.join(", ");
  return report.incomplete ? "failed" : "no change";
}

function why(change: Change): string {
  return change.what.length === 0 ? "" : ` because of ${change.what.map((name) => `\`${name}\``).join(", ")}`;
}

/** What a protected resource's loss means and how to go on. */
function protection(stack: string, change: Change, allowed: boolean): string {
  const what = `\`${change.name}\` is protected, and would be ${PAST[change.operation]}${why(change)}.`;
  if (allowed)
    return `> [!WARNING]\n> ${what} The description allows it. Pulumi refuses it until its protection is taken away: \`protect: false\`, \`pulumi up\`, then this change.`;
  return [
    "> [!CAUTION]",
    `> **${what}** What is in it is lost.`,
    `> If that is meant, write in the description of the pull request: \`allow-replace: ${stack}/${change.name}\``,
  ].join("\n");
}

function changeTable(changes: readonly Change[]): string {
  const rows = [...changes]
    .sort((a, b) => ORDER.indexOf(a.operation) - ORDER.indexOf(b.operation))
    .map((change) => [
      change.operation,
      `\`${change.name}\`${change.isProtected ? " (protected)" : ""}`,
      change.kind,
      change.what.map((name) => `\`${name}\``).join(", "),
    ]);
  return table(["", "resource", "kind", "what changes"], rows);
}

function messageBlocks(report: PreviewReport): Block[] {
  const block = (title: string, messages: readonly string[]): Block[] =>
    messages.length === 0
      ? []
      : [cuttable(title, counted(messages.length, title), "text", messages.join("\n\n"))];
  const errors = report.errors.join("\n\n");
  return [
    // Errors stand open: they are why the job fails.
    ...(errors === "" ? [] : [uncut("errors", fenced("text", errors.slice(0, 8_000)))]),
    ...block("warning", report.warnings),
  ];
}

/** A preview as a comment, and whether it may be merged as it is. */
export function reviewPreview(
  stack: string,
  report: PreviewReport,
  allowed: readonly string[],
): ReviewedPreview {
  const endangered = report.changes.filter((change) => change.isProtected);
  const refused = endangered.filter((change) => !isAllowed(allowed, stack, change.name));
  const fine = refused.length === 0 && report.errors.length === 0;
  const head = [
    `${marker("preview", stack)}\n### Preview of \`${stack}\`: ${headline(report)}`,
    ...endangered.map((change) => protection(stack, change, !refused.includes(change))),
    ...(report.incomplete ? ["Pulumi stopped at an error: more may change than is listed."] : []),
  ].join("\n\n");
  return {
    fine,
    refused,
    comment: fitted(
      head,
      [
        ...(report.changes.length === 0 ? [] : [uncut("the list of changes", changeTable(report.changes))]),
        ...messageBlocks(report),
      ],
      `All of it: \`pulumi preview --stack ${stack}\`.`,
    ),
  };
}
