import { caseName } from "../faults/case-name";
import { reliabilityReport, type Results, type TestResult } from "./report";

const said = { machine: "pve1", step: "driver-install", cause: "no room", next: "make room" };
const test = (group: string, fault: string, status = "passed"): TestResult => ({
  ancestorTitles: [group],
  title: caseName({ fault, says: said, keeps: "the same process goes on" }),
  status,
});
const results = (...assertionResults: TestResult[]): Results[] => [{ testResults: [{ assertionResults }] }];
const report = (...tests: TestResult[]) =>
  reliabilityReport(
    results(...tests),
    [{ component: "service", fault: "disk full", reason: "it writes nothing" }],
    "2026-11-30",
  );

describe("the report of the fault matrix", () => {
  it("counts cases that ran, and says when", () => {
    const text = report(
      test("every step: driver", "disk full"),
      test("single: driver", "source gone", "failed"),
      test("single: driver", "not run", "pending"),
    );
    expect(text).toContain("Last run: 2026-11-30. **2 cases: 1 passed, 1 failed.**");
    expect(text).not.toContain("not run");
  });

  it("has a cell for each component and fault: passed, failed, not tried, or why it cannot be", () => {
    const text = report(
      test("every step: driver", "disk full"),
      test("every step: driver", "power lost", "failed"),
      test("every step: service", "power lost"),
      test("every step: model", "power lost"),
    );
    const rows = text.split("\n").filter((line) => /^\| (at work|driver|service|model) /.test(line));
    expect(rows).toEqual([
      "| at work | disk full | power lost |",
      "| driver | passed | **failed** |",
      "| model | not tried | passed |",
      "| service | – (1) | passed |",
    ]);
    expect(text).toContain("1. service, disk full: it writes nothing");
  });

  it("says of every case what `up` says and what goes on serving", () => {
    expect(report(test("single: driver", "source gone"))).toContain(
      "| source gone | pve1, driver-install: no room → make room | the same process goes on |",
    );
  });

  it("keeps a fault's own pipes and angle brackets out of the table's syntax", () => {
    expect(report(test("single: driver", "a <b>"))).toContain("| a &lt;b> |");
  });

  it("counts messages without a way on", () => {
    const wordless = caseName({
      fault: "refused",
      says: { machine: "pve1", step: "driver-install", cause: "connection refused" },
      keeps: "the same process goes on",
    });
    const text = report({ ancestorTitles: ["single: driver"], title: wordless, status: "passed" });
    expect(text).toContain("In 1 of them");
  });
});
