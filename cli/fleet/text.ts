/** The summary of a fleet's run for a person. */
import Table from "cli-table3";
import { counted } from "../review/markdown";
import { changed, type Outcome } from "./outcome";

type Row = readonly (string | number)[];

/** A table without lines between its rows. */
export function plainTable(head: readonly string[], rows: readonly Row[], colWidths: number[] = []): string {
  const table = new Table({
    head: [...head],
    colWidths,
    wordWrap: colWidths.length > 0,
    style: { head: [], border: [] },
    chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString();
}

function rowOf({ stack, host, result, changes, seconds }: Outcome): Row {
  const { create, update, replace, delete: deleted, same } = changes;
  return [stack, host, result, create, update, replace, deleted, same, seconds.toFixed(0)];
}

/** What went wrong on a stack, whole for copying. */
export function failureLines(stack: string, failures: Outcome["failures"]): string[] {
  return failures.flatMap(({ message, fix }) => [
    `${stack}: ${message}`,
    ...(fix === "" ? [] : [`  fix: ${fix}`]),
  ]);
}

/** What is to be said of a whole fleet in one line. */
function verdict(outcomes: readonly Outcome[]): string {
  const results = [...new Set(outcomes.map(({ result }) => result))];
  const stacks = results
    .map((result) => `${outcomes.filter((outcome) => outcome.result === result).length} ${result}`)
    .join(", ");
  const changes = outcomes.reduce((sum, outcome) => sum + changed(outcome.changes), 0);
  return `${counted(outcomes.length, "stack")} (${stacks}), ${counted(changes, "change")}`;
}

/** One row a stack, below it what went wrong and what to do, and where the logs are. */
export function summary(outcomes: readonly Outcome[], logFolder: string): string {
  const head = ["stack", "host", "result", "create", "update", "replace", "delete", "same", "seconds"];
  return [
    plainTable(head, outcomes.map(rowOf)),
    ...outcomes.flatMap(({ stack, failures }) => failureLines(stack, failures)),
    `${verdict(outcomes)}; logs in ${logFolder}`,
  ].join("\n");
}
