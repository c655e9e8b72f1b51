/** The report of `./stack drift` for a person. */
import Table from "cli-table3";
import type { DriftReport } from "./report";

const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** A table of what differs, what could not be looked at, and a line that sums it up. */
export function driftText(
  source: string,
  { rows, unchecked, checked }: DriftReport,
  seconds: number,
): string {
  const lines: string[] = [];
  if (rows.length > 0) {
    const table = new Table({
      head: ["where", "step", "what is there", "what is declared", "--repair"],
      colWidths: [20, 24, 44, 34, 34],
      wordWrap: true,
      style: { head: [], border: [] },
    });
    table.push(
      ...rows.map(({ where, step, found, declared, repair }) => [where, step, found, declared, repair]),
    );
    lines.push(table.toString());
  }
  for (const { where, steps, reason } of unchecked)
    lines.push(`${where}: ${reason}; not checked: ${steps.join(", ")}`);
  const verdict =
    rows.length > 0
      ? `${plural(rows.length, "difference")} in ${plural(new Set(rows.map(({ step }) => step)).size, "step")}`
      : unchecked.length === 0
        ? "all as declared"
        : "what could be checked is as declared";
  lines.push(`${source}: ${plural(checked, "step")} checked in ${seconds.toFixed(1)} s, ${verdict}`);
  return lines.join("\n");
}
