/** The report of `./stack fleet drift` for a person. */
import type { DriftOutcome } from "../fleet-drift";
import { counted } from "../review/markdown";
import { plainTable } from "./text";

/** What differs on all stacks, what could not be looked at, and a row that sums up each stack. */
export function driftSummary(outcomes: readonly DriftOutcome[]): string {
  const rows = outcomes.flatMap(({ stack, rows: found }) =>
    found.map((row) => [stack, row.where, row.step, row.found, row.declared]),
  );
  const differences = plainTable(
    ["stack", "where", "step", "what is there", "what is declared"],
    rows,
    [14, 20, 24, 48, 44],
  );
  const drifted = outcomes.filter(({ result }) => result === "drift").map(({ stack }) => stack);
  return [
    ...(rows.length === 0 ? [] : [differences]),
    ...outcomes.flatMap(({ stack, unchecked, error }) => [
      ...unchecked.map(
        ({ where, steps, reason }) => `${stack}: ${where}: ${reason}; not checked: ${steps.join(", ")}`,
      ),
      ...(error === null ? [] : [`${stack}: ${error}`]),
    ]),
    plainTable(
      ["stack", "host", "result", "differences", "steps checked", "seconds"],
      outcomes.map(({ stack, host, result, rows: found, checked, seconds }) => [
        stack,
        host,
        result,
        found.length,
        checked,
        seconds.toFixed(1),
      ]),
    ),
    drifted.length === 0
      ? `${counted(outcomes.length, "stack")}: no drift where it could be looked`
      : `repair: ${drifted.map((stack) => `./stack drift ${stack} --repair`).join(", ")}`,
  ].join("\n");
}
