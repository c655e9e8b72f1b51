/** Whatever stands in a stack file: it is a configuration, or it is refused in words. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { stringify } from "yaml";
import { inspectStack, inspectStackFile, type Inspection } from "../../config/load";
import { ConfigurationError, formatProblems, type Problem } from "../../config/problems";
import { HIDDEN } from "../../config/visible";
import { renderStack } from "../../plan/render/stack";
import { planStack } from "../../plan/stack";
import { holds } from "./runs";
import { handedOver, projectWithLock, rightStacks, wrongStacks, type Keys } from "./stack-documents";
import { anyText } from "./strings";

const project = projectWithLock();
const file = path.join(mkdtempSync(path.join(tmpdir(), "stack-file-")), "Pulumi.property.yaml");

const inspected = (keys: Keys): Inspection =>
  inspectStack(handedOver(keys), { source: "Pulumi.property.yaml", projectDirectory: project });

/** The problems of a text as a stack file. */
function problemsOfText(text: string): readonly Problem[] {
  writeFileSync(file, text);
  try {
    return inspectStackFile(file, project).problems;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}

/** Longest text of one problem: a list of all allowed values may be long, somebody's value never is. */
const LONGEST = 6000;

/** A problem says where, what is allowed and what to do, in words that can be read. */
function expectReadable(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const text = formatProblems("Pulumi.property.yaml", [problem]);
    expect(problem.message).not.toBe("");
    expect(problem.fix).not.toBe("");
    expect(text.length).toBeLessThan(LONGEST);
    // Nothing of it ends the line, colours the terminal or turns the direction of writing.
    expect(text.split("\n").filter((line) => HIDDEN.test(line))).toEqual([]);
    if (problem.path !== "") expect(problem.path).toMatch(/^(proxmox-gpu-stack:|environments\/|models\/|\S)/);
  }
}

function rendered(inspection: Inspection): Record<string, string> | undefined {
  const { config } = inspection;
  if (config === undefined) return undefined;
  const plan = planStack(config, project);
  expectReadable(plan.findings);
  return renderStack(config, plan);
}

test("a right stack file is accepted, whatever texts stand where texts may stand", () => {
  holds(rightStacks, 30, (keys) => {
    const { config, problems } = inspected(keys);
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(config).toBeDefined();
  });
});

test("a wrong one is a problem, never an exception, and so is what a rule says of one that passes", () => {
  holds(wrongStacks, 80, (keys) => {
    const inspection = inspected(keys);
    expectReadable(inspection.problems);
    rendered(inspection);
  });
});

test("the same holds for it as a file", () => {
  holds(wrongStacks, 40, (keys) => {
    const config = Object.fromEntries(
      Object.entries(keys).map(([key, value]) => [`proxmox-gpu-stack:${key}`, value]),
    );
    expectReadable(problemsOfText(stringify({ config })));
  });
});

test("the same holds for any text as a file", () => {
  holds(
    fc.oneof(
      anyText,
      anyText.map((text) => `config:\n  proxmox-gpu-stack:host: ${text}\n`),
    ),
    80,
    (text) => {
      const problems = problemsOfText(text);
      expectReadable(problems);
      expect(problems.some(({ severity }) => severity === "error")).toBe(true);
    },
  );
});

test.each([
  [
    "aliases that grow without end",
    `a: &a [x, x]\n${"bcdefghij"
      .split("")
      .map((name, index) => `${name}: &${name} [${`*${"abcdefghij"[index] ?? ""}, `.repeat(20)}]`)
      .join("\n")}\nconfig: *j\n`,
  ],
  ["an alias of nothing", "config: *nowhere\n"],
  ["brackets without end", `config: ${"[".repeat(20_000)}`],
  ["two documents", "config: {}\n---\nconfig: {}\n"],
  ["a key twice", "config:\n  proxmox-gpu-stack:host: {}\n  proxmox-gpu-stack:host: {}\n"],
  ["a key that is no text", "config:\n  ? [a, b]\n  : c\n"],
  ["bytes", "config:\n  proxmox-gpu-stack:host: { node: !!binary aGFsbG8= }\n"],
])("a file with %s is refused in words", (_, text) => {
  const problems = problemsOfText(text);
  expectReadable(problems);
  expect(problems.some(({ severity }) => severity === "error")).toBe(true);
});

test("a key that JavaScript would swallow is named", () => {
  const text = '{"left":{"model":"rtx-a6000"},"__proto__":{"model":"x"}}';
  const { problems } = inspectStack({ "proxmox-gpu-stack:gpus": text }, { projectDirectory: project });
  expect(problems.map((problem) => problem.path)).toContain("proxmox-gpu-stack:gpus.__proto__");
});

test("a rendering is the same twice, and does not depend on the order of keys", () => {
  /** The keys of every structure the other way round; lists stay. */
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reversed(inner)]),
    );
  };
  holds(rightStacks, 12, (keys) => {
    const files = rendered(inspected(keys));
    expect(rendered(inspected(keys))).toEqual(files);
    expect(rendered(inspected(reversed(keys) as Keys))).toEqual(files);
  });
});
