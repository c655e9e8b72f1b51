import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { explainRule } from "../../catalog";
import { RULE_IDS } from "../../catalog/explain";
import { ATTENTION_ROWS } from "./rows/attention";
import { RECURRENT_STATE_ROWS } from "./rows/recurrent-state";
import { SPECULATION_ROWS } from "./rows/speculation";
import { QUANTIZATION_ROWS } from "./rows/quantization";
import { PARALLEL_ROWS } from "./rows/parallel";
import { PACKAGES_ROWS } from "./rows/packages";
import { ARGUMENTS_ROWS } from "./rows/arguments";
import { findingsOf, PATH, type Case } from "./support";

const RULE_ROWS = [
  ...ATTENTION_ROWS,
  ...RECURRENT_STATE_ROWS,
  ...SPECULATION_ROWS,
  ...QUANTIZATION_ROWS,
  ...PARALLEL_ROWS,
  ...PACKAGES_ROWS,
  ...ARGUMENTS_ROWS,
];

const GOLDEN = join(__dirname, "golden", "rules.txt");

function name({ release, model, gpu, capability, count, args, env, packages, python, facts }: Case): string {
  const data = [env, packages, facts].flatMap((part) => part && JSON.stringify(part));
  return [release, model, gpu, capability?.join("."), count, args, ...data, python]
    .filter((part) => part !== undefined)
    .join(" ");
}

/** What a rule says about a service, as a person reads it. */
function said(rule: string, row: Case): string[] {
  return findingsOf(row)
    .filter(({ id }) => id === rule)
    .map(
      ({ severity, path, message, fix }) =>
        `  ${severity} ${path.replace(PATH, "")}\n    ${message}\n    fix: ${fix}`,
    );
}

function golden(): string {
  return RULE_ROWS.flatMap(({ rule, fires }) =>
    fires.map((row) => `${rule}: ${name(row)}\n${said(rule, row).join("\n")}\n`),
  ).join("\n");
}

describe.each(RULE_ROWS)("$rule", ({ rule, fires, silent }) => {
  test.each(fires.map((row) => [name(row), row] as const))("fires: %s", (_name, row) => {
    expect(said(rule, row).length).toBeGreaterThan(0);
  });

  test.each(silent.map((row) => [name(row), row] as const))("is silent: %s", (_name, row) => {
    expect(said(rule, row)).toEqual([]);
  });
});

describe("the rules", () => {
  test("R1 to R49 are complete", () => {
    const numbered = Array.from({ length: 49 }, (_, index) => `R${index + 1}`);
    const known = RULE_IDS.filter((id) => /^R\d+$/.test(id));
    expect([...known].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))).toEqual(numbered);
  });

  test("each has an id of its own, cases, evidence, and rows here (D1 to P5 and release-newer: see regressions)", () => {
    expect(new Set(RULE_IDS).size).toBe(RULE_IDS.length);
    const tested = new Set(RULE_ROWS.map(({ rule }) => rule));
    expect(RULE_IDS.filter((id) => !tested.has(id) && !/^([DP]\d|release-newer)$/.test(id))).toEqual([]);
    for (const id of RULE_IDS) {
      const rule = explainRule(id);
      expect(rule?.cases.length).toBeGreaterThan(0);
      expect(rule?.evidence.length).toBeGreaterThan(5);
      expect(rule?.subject.length).toBeGreaterThan(10);
    }
  });

  test("can be explained in words, whatever the case of the id", () => {
    expect(explainRule("r8")).toEqual({
      id: "R8",
      subject: "extra_buffer without radix cache",
      evidence:
        "server_args.py:2396-2401 (v0.5.11); from 0.5.14 the strategy is not looked at without radix cache",
      cases: [
        {
          builds: "0.5.10 up to before 0.5.14",
          severity: "error",
          setting: "mambaScheduler",
          message: "ValueError: mamba extra_buffer is not compatible with --disable-radix-cache",
          fix: "use --mamba-scheduler-strategy no_buffer, or take --disable-radix-cache out",
        },
      ],
    });
    expect(explainRule("P2")?.subject).toBe("kernels other than >=0.12,<0.13 beside transformers==5.6.0");
    expect(explainRule("R40")?.cases[0]?.setting).toBe("the setting behind the argument");
    expect(explainRule("R99")).toBeUndefined();
  });

  // After a wanted change of a text: UPDATE_GOLDEN=1 npx jest test/catalog/rules.test.ts, then read the diff.
  test("say exactly what the golden file holds", () => {
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(GOLDEN, golden());
    expect(golden()).toBe(readFileSync(GOLDEN, "utf8"));
  });
});
