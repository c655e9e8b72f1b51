/** The files beside a stack file, whatever stands in them: environments, wheels, patches, lists of models. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { readEnvironmentFolder } from "../../config/environment-folder";
import { readModelList } from "../../config/model-list";
import { formatProblem, type Problem } from "../../config/problems";
import { HIDDEN } from "../../config/visible";
import { readWheelRecipes } from "../../config/wheels";
import { holds } from "./runs";
import { anyText, encoded } from "./strings";

const project = mkdtempSync(path.join(tmpdir(), "property-files-"));
const folder = path.join(project, "environments", "toy");

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.join(folder, "patches", "toy"), { recursive: true });
});

afterAll(() => {
  rmSync(project, { recursive: true });
});

const write = (name: string, text: string): void => {
  writeFileSync(path.join(folder, name), text);
};

function expectReadable(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const text = formatProblem(problem);
    expect(text.length).toBeLessThan(6000);
    expect(text.split("\n").filter((line) => HIDDEN.test(line))).toEqual([]);
  }
}

/** A value at the place of one that is right. */
const values = fc.oneof(
  { weight: 3, arbitrary: anyText.map(encoded) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(1, true, [], ["x"], {}, { a: 1 }) },
);

const RIGHT_PYPROJECT = {
  project: { name: "toy", "requires-python": ">=3.11", dependencies: ["torch==2.11.0"] },
  tool: {
    uv: {
      index: [{ name: "own", url: "http://192.0.2.1/simple", explicit: true }],
      sources: { torch: { index: "own" } },
    },
    "proxmox-gpu-stack": {
      "smoke-test": { imports: ["torch"], architectures: ["sm_86"] },
      "system-packages": ["gcc"],
    },
  },
};

const RIGHT_WHEELS = {
  wheel: [
    {
      package: "toy",
      version: "1.0",
      source: { url: "http://192.0.2.1/toy-1.0.tar.gz", sha256: "a".repeat(64), folder: "python" },
      vendored: [
        { name: "dep", url: "http://192.0.2.1/dep.tar.gz", sha256: "b".repeat(64), into: "toy/third" },
      ],
      cuda: "13.0",
      environment: { A: "b" },
      cmake: { C: "d" },
      architectures: ["sm_86"],
      imports: ["toy"],
    },
  ],
};

type Tree = Record<string, unknown>;

/** The tree with one of its leaves or branches replaced; the number says which. */
function replaced(tree: object, which: number, value: unknown): Tree {
  const copy = structuredClone(tree) as Tree;
  const holders: [Tree, string][] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, inner] of Object.entries(node)) {
      holders.push([node as Tree, key]);
      visit(inner);
    }
  };
  visit(copy);
  const [holder, key] = holders[which % holders.length] as [Tree, string];
  holder[key] = value;
  return copy;
}

test("a pyproject.toml is pins, or problems in words", () => {
  holds(fc.tuple(fc.nat(), values), 150, ([which, value]) => {
    write("pyproject.toml", stringify(replaced(RIGHT_PYPROJECT, which, value)));
    expectReadable(readEnvironmentFolder("toy", project).problems);
  });
  holds(anyText, 60, (text) => {
    write("pyproject.toml", text);
    expectReadable(readEnvironmentFolder("toy", project).problems);
  });
});

test("a wheels.toml is recipes whose values can travel, or problems in words", () => {
  write("build.lock", "cmake==4 --hash=sha256:00\n");
  holds(fc.tuple(fc.nat(), values), 150, ([which, value]) => {
    write("wheels.toml", stringify(replaced(RIGHT_WHEELS, which, value)));
    const { recipes, problems } = readWheelRecipes("toy", project);
    expectReadable(problems);
    for (const text of recipes.flatMap(({ environment, cmake }) =>
      Object.values({ ...environment, ...cmake }),
    ))
      expect(HIDDEN.test(text)).toBe(false);
  });
});

test("what is no patch by its name is named, and never left out unseen", () => {
  write("wheels.toml", stringify(RIGHT_WHEELS));
  const names = anyText
    .map((text) => encoded(text.replaceAll(/[/\0]/g, "")).slice(0, 60))
    .filter((name) => !["", ".", ".."].includes(name));
  holds(names, 60, (name) => {
    const file = path.join(folder, "patches", "toy", name);
    writeFileSync(file, "--- a\n+++ b\n");
    try {
      const { recipes, problems } = readWheelRecipes("toy", project);
      expectReadable(problems);
      const taken = recipes.flatMap(({ patches }) => patches.map((patch) => patch.name));
      expect(taken.length + problems.filter(({ id }) => id === "wrong-patch-name").length).toBe(1);
    } finally {
      rmSync(file);
    }
  });
});

test("a list of a model's files never leads out of the model's folder", () => {
  const list = (name: string) => ({
    repo: "a/b",
    revision: "c".repeat(40),
    files: [{ path: name, bytes: 1, gitBlob: "d".repeat(40) }],
  });
  const file = path.join(project, "models", "a--b", `${"c".repeat(40)}.json`);
  mkdirSync(path.dirname(file), { recursive: true });
  holds(
    fc.oneof(
      anyText,
      anyText.map((text) => `weights/${text}`),
    ),
    150,
    (name) => {
      writeFileSync(file, JSON.stringify(list(name)));
      try {
        const [entry] = readModelList(project, "a/b", "c".repeat(40))?.files ?? [];
        expect(path.posix.resolve("/model", entry?.path ?? "")).toMatch(/^\/model\/./);
        expect(HIDDEN.test(entry?.path ?? "")).toBe(false);
      } catch (error) {
        expect((error as Error).message).toMatch(/^models\/a--b\/c+\.json: /);
      }
    },
  );
});
