import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { PROJECT_DIRECTORY } from "../../config/load";
import { readWheelRecipes } from "../../config/wheels";
import { problemsAfter, project as sampleProject } from "./support";

const SHA = "a".repeat(64);
const GOOD = `
[[wheel]]
package = "kernels"
version = "0.3.21"
cuda = "13.0"
imports = ["kernels"]
[wheel.source]
url = "http://files.example.org/k.tar.gz"
sha256 = "${SHA}"
`;

let project: string;
const folder = () => path.join(project, "environments", "sglang-0.5.11");
const write = (name: string, text: string) => {
  mkdirSync(path.dirname(path.join(folder(), name)), { recursive: true });
  writeFileSync(path.join(folder(), name), text);
};
const read = () => readWheelRecipes("sglang-0.5.11", project);

beforeEach(() => {
  project = sampleProject();
  write("wheels.toml", GOOD);
  write("build.lock", "cmake==4.1.3\n");
});
afterEach(() => {
  rmSync(project, { recursive: true });
});

it("a recipe has its patches in the order of their names", () => {
  write("patches/kernels/02-b.patch", "two");
  write("patches/kernels/01-a.patch", "one");
  expect(read().problems).toEqual([]);
  expect(read().recipes[0]?.patches).toEqual([
    { name: "01-a.patch", text: "one" },
    { name: "02-b.patch", text: "two" },
  ]);
});

describe("a mistake in wheels.toml is named with file, key and value:", () => {
  it.each([
    ["a version", '"0.3.21"', '"latest"', "wheel.0.version", "must be a version such as 0.3.21"],
    [
      "a checksum",
      SHA,
      "abc",
      "wheel.0.source.sha256",
      "must be 64 lower-case hexadecimal digits, or unknown",
    ],
    [
      "an address",
      "http://files",
      "ftp://files",
      "wheel.0.source.url",
      "must be an http:// or https:// address",
    ],
    ["a CUDA version", '"13.0"', '"13"', "wheel.0.cuda", 'must be a CUDA version in quotes, "13.0"'],
    ["an unknown key", "imports", "colour = 1\nimports", "wheel.0.colour", "no such key"],
    ["no import", '["kernels"]', "[]", "wheel.0.imports", "must be at least one module"],
  ])("%s", (_, from, to, key, message) => {
    write("wheels.toml", GOOD.replace(from, to));
    const { recipes, problems } = read();
    expect(recipes).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.path).toBe(`environments/sglang-0.5.11/wheels.toml: ${key}`);
    expect(problems[0]?.message).toContain(message);
  });

  it("a folder that leads out of the archive", () => {
    write("wheels.toml", `${GOOD}folder = "../x"\n`);
    expect(read().problems[0]?.message).toMatch(/^must be a folder inside the archive/);
  });

  it("a CMake setting with a space, which would become two", () => {
    write("wheels.toml", `${GOOD}[wheel.cmake]\nFLAGS = "-O3 -g"\n`);
    expect(read().problems[0]?.message).toBe("must be a text without spaces");
  });

  it("no TOML", () => {
    write("wheels.toml", "[[wheel]\n");
    expect(read().problems[0]?.message).toMatch(/^line 1: /);
  });

  it("two wheels of one package", () => {
    write("wheels.toml", GOOD + GOOD);
    expect(read().problems.map(({ id }) => id)).toEqual(["duplicate-wheel"]);
  });

  it("architectures without a compiler for them", () => {
    write("wheels.toml", GOOD.replace('cuda = "13.0"', 'architectures = ["sm_86"]'));
    expect(read().problems.map(({ id }) => id)).toEqual(["wheel-without-cuda"]);
  });
});

it("a file among the patches that is none is named: it would be left out", () => {
  write("patches/kernels/fix.diff", "x");
  expect(read().problems[0]?.path).toBe("environments/sglang-0.5.11/patches/kernels/fix.diff");
});

it("without build.lock nothing says what builds", () => {
  rmSync(path.join(folder(), "build.lock"));
  expect(read().problems[0]?.path).toBe("environments/sglang-0.5.11/build.lock");
});

it("a checksum that nobody recorded lets a preview pass and blocks up, with the address", () => {
  write("wheels.toml", GOOD.replace(SHA, "unknown"));
  const problems = read().problems;
  expect(problems).toMatchObject([{ id: "unknown-pin", severity: "warning", blocksUp: true }]);
  expect(problems[0]?.fix).toContain("http://files.example.org/k.tar.gz");
});

describe("a stack whose environment compiles", () => {
  const toolkit = (version: string) => ({
    version,
    installer: { url: "http://files.example.org/c.run", sha256: SHA },
  });
  const after = (toolkits: Record<string, unknown>, name?: string) =>
    problemsAfter(
      (keys) => {
        keys.toolkits = toolkits;
        if (name !== undefined) Object.assign(keys.environments?.["ml-env"] as object, { toolkit: name });
      },
      { projectDirectory: project },
    );

  it("is fine with a toolkit of that CUDA", () => {
    expect(after({ new: toolkit("13.0.2") }, "new")).toEqual([]);
  });

  it("needs one, and is told which would do", () => {
    const problems = after({ old: toolkit("12.9.1"), new: toolkit("13.0.2") });
    expect(problems).toMatchObject([{ id: "toolkit-missing", fix: "name a toolkit of CUDA 13.0: new" }]);
  });

  it("needs the right one", () => {
    expect(after({ old: toolkit("12.9.1") }, "old")).toMatchObject([
      { id: "toolkit-version", fix: "add a toolkit of CUDA 13.0 to toolkits and name it here" },
    ]);
  });

  it("is told that a name is unknown", () => {
    expect(after({ new: toolkit("13.0.2") }, "nwe").map(({ id }) => id)).toContain("unknown-name");
  });

  it("may not have two toolkits of one version", () => {
    expect(after({ a: toolkit("13.0.2"), b: toolkit("13.0.2") }, "a")).toMatchObject([
      { id: "duplicate-toolkit" },
    ]);
  });
});

it("the recipes of this project are right, but for what nobody recorded", () => {
  for (const name of ["qwen35-nightly-20260307", "kernel-wheel-lab"]) {
    const { recipes, problems } = readWheelRecipes(name, PROJECT_DIRECTORY);
    expect(recipes.length).toBeGreaterThan(0);
    expect(problems.filter(({ id }) => id !== "unknown-pin")).toEqual([]);
  }
});

it("an environment without wheels.toml builds nothing", () => {
  const empty = mkdtempSync(path.join(tmpdir(), "empty-"));
  expect(readWheelRecipes("none", empty)).toEqual({ recipes: [], buildLock: "", problems: [] });
  rmSync(empty, { recursive: true });
});
