import { driftFleetExitCode, type DriftOutcome } from "../../../cli/fleet-drift";
import { exitCodeOf, NOTHING, type Outcome, type Result } from "../../../cli/fleet/outcome";
import { summary } from "../../../cli/fleet/text";

const outcome = (stack: string, result: Result, rest: Partial<Outcome> = {}): Outcome => ({
  stack,
  host: `${stack}-node`,
  result,
  changes: NOTHING,
  seconds: 3.4,
  log: null,
  failures: [],
  ...rest,
});

const code = (...results: Result[]) => exitCodeOf(results.map((result) => outcome("a", result)));

describe("the exit code of a fleet's run", () => {
  test.each<[string, number, Result[]]>([
    ["nothing would change", 0, ["no change", "no change"]],
    ["something would change somewhere", 2, ["no change", "would change"]],
    ["a preview failed, whatever the others show", 1, ["would change", "failed"]],
    ["all was deployed", 0, ["done", "done"]],
    ["one deployment failed", 1, ["done", "failed"]],
    ["a failure counts more than a host that is not there", 1, ["unreachable", "failed", "done"]],
    ["only hosts that are not there stood in the way", 4, ["done", "unreachable"]],
    ["it was interrupted", 1, ["done", "cancelled", "not started"]],
  ])("%s: %i", (_, expected, results) => {
    expect(code(...results)).toBe(expected);
  });
});

describe("the exit code of a fleet's drift", () => {
  test.each<[string, number, DriftOutcome["result"][]]>([
    ["all as declared", 0, ["as declared"]],
    ["drift is certain, whatever could not be looked at", 2, ["drift", "unreachable", "failed"]],
    ["a look failed", 1, ["as declared", "unreachable", "failed"]],
    ["a host was not there", 4, ["as declared", "unreachable"]],
    ["a part was not there", 4, ["partly checked"]],
  ])("%s: %i", (_, expected, results) => {
    expect(driftFleetExitCode(results.map((result) => ({ result })))).toBe(expected);
  });
});

test("the summary has a row for each stack, and below it what went wrong, whole for copying", () => {
  const text = summary(
    [
      outcome("kpro5", "done", { changes: { create: 2, update: 1, replace: 0, delete: 0, same: 14 } }),
      outcome("kpro6", "failed", {
        failures: [{ message: "step driver-install on kpro6 failed: no space", fix: "make room" }],
      }),
    ],
    "/logs/run",
  );
  expect(text).toMatch(/│ kpro5 │ kpro5-node │ done +│ 2 +│ 1 +│ 0 +│ 0 +│ 14 +│ 3 +│/);
  expect(text).toContain("kpro6: step driver-install on kpro6 failed: no space\n  fix: make room\n");
  expect(text).toMatch(/\n2 stacks \(1 done, 1 failed\), 3 changes; logs in \/logs\/run$/);
});
