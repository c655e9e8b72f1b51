import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseRequirement } from "../../config/environment/requirements";
import { readEnvironmentFolder } from "../../config/environment-folder";
import { lockNames } from "../../config/lock";

const PROJECT = path.join(__dirname, "../..");
const SHA = "a".repeat(64);

/** A project with one environment, `toy`. */
function project(files: Record<string, string>): string {
  const directory = mkdtempSync(path.join(tmpdir(), "environment-"));
  const folder = path.join(directory, "environments/toy");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return directory;
}

function read(files: Record<string, string>) {
  return readEnvironmentFolder("toy", project(files));
}

const PYPROJECT = `
[project]
name = "toy"
requires-python = ">=3.12"
dependencies = ["torch==2.12.0.dev1+cu130", "Six>=1"]

[tool.uv]
override-dependencies = ["torch==2.12.0.dev1+cu130"]
exclude-newer = "2026-05-05"

[[tool.uv.index]]
name = "nightly"
url = "https://nightly.example.org/whl"
explicit = true

[tool.uv.sources]
torch = { index = "nightly" }

[tool.proxmox-gpu-stack.smoke-test]
imports = ["torch"]
cuda = "13.0"
architectures = ["sm_86"]
`;

test("pins, uv's settings and the smoke test are read", () => {
  const { dependencies, pythonVersion, python, smokeTest, uv, problems, lock, files } = read({
    "pyproject.toml": PYPROJECT,
  });
  expect(problems).toEqual([]);
  expect({ dependencies, pythonVersion, python }).toEqual({
    dependencies: ["torch==2.12.0.dev1+cu130", "Six>=1"],
    pythonVersion: "3.12",
    python: undefined,
  });
  expect(smokeTest).toEqual({ imports: ["torch"], cuda: "13.0", architectures: ["sm_86"] });
  expect(uv.sources).toEqual({ torch: { index: "nightly" } });
  expect(uv["exclude-newer"]).toBe("2026-05-05");
  expect([lock, files]).toEqual([undefined, undefined]);
});

test("Debian packages that the programs need are read; what is no name of one is refused", () => {
  const table = (names: string) => `${PYPROJECT}\n[tool.proxmox-gpu-stack]\nsystem-packages = [${names}]\n`;
  expect(read({ "pyproject.toml": PYPROJECT }).systemPackages).toEqual([]);
  expect(read({ "pyproject.toml": table('"gcc", "libnuma1"') }).systemPackages).toEqual(["gcc", "libnuma1"]);
  expect(read({ "pyproject.toml": table('"--purge"') }).problems).toMatchObject([
    { path: "environments/toy/pyproject.toml: tool.proxmox-gpu-stack.system-packages.0", value: '"--purge"' },
  ]);
});

test("a pinned interpreter decides the Python version", () => {
  const python = `\n[tool.proxmox-gpu-stack.python]\nversion = "3.11.14"\nurl = "https://example.org/p.tar.gz"\nsha256 = "${SHA}"\n`;
  expect(read({ "pyproject.toml": PYPROJECT + python }).pythonVersion).toBe("3.11");
});

test("the lock's packages have normalised names, versions and every hash", () => {
  const lock = `# inputs: sha256:${SHA}\nTyping_Extensions==4.1 \\\n    --hash=sha256:${SHA} \\\n    --hash=sha256:${"b".repeat(64)}\n`;
  expect(read({ "pyproject.toml": PYPROJECT, "requirements.lock": lock }).lock).toMatchObject({
    inputs: SHA,
    packages: [{ name: "typing-extensions", version: "4.1", hashes: [SHA, "b".repeat(64)] }],
  });
});

test("missing.txt is read without its comments", () => {
  const files = { "pyproject.toml": PYPROJECT, "missing.txt": "# why\n\ntorch 2.12: gone\n" };
  expect(read(files).missing).toEqual(["torch 2.12: gone"]);
});

test("files of the wheelhouse are read", () => {
  const file = { name: "six-1-py3-none-any.whl", sha256: SHA, bytes: 9, package: "six" };
  const files = { "pyproject.toml": PYPROJECT, "wheelhouse.json": JSON.stringify({ files: [file] }) };
  expect(read(files)).toMatchObject({ problems: [], files: [file] });
});

test.each([
  [
    "an index for everything",
    "explicit = true",
    "explicit = false",
    "tool.uv.index.0.explicit",
    "must be true",
  ],
  ["an unknown index", 'index = "nightly"', 'index = "nihgtly"', "tool.uv.sources.torch.index", "nightly"],
  [
    "best of several indexes",
    "exclude-newer",
    'index-strategy = "unsafe-best-match"\nexclude-newer',
    "tool.uv.index-strategy",
    "first-index",
  ],
  [
    "pre-releases of anything",
    "exclude-newer",
    'prerelease = "allow"\nexclude-newer',
    "tool.uv.prerelease",
    "explicit",
  ],
  ["a date that uv does not take", '"2026-05-05"', "2026-05-05", "tool.uv.exclude-newer", "must be a text"],
  ["a misspelt key", "architectures", "arches", "tool.proxmox-gpu-stack.smoke-test.arches", "no such key"],
  ["an unquoted CUDA version", '"13.0"', "13.0", "tool.proxmox-gpu-stack.smoke-test.cuda", "must be a text"],
  ["no requirement", '"Six>=1"', '"Six is fine"', "project.dependencies.1", "must be a requirement"],
])("%s is refused by name", (_, from, to, key, message) => {
  const { problems } = read({ "pyproject.toml": PYPROJECT.replace(from, to) });
  expect(problems).toHaveLength(1);
  expect(problems[0]?.path).toBe(`environments/toy/pyproject.toml: ${key}`);
  expect(problems[0]?.message).toContain(message);
});

test("broken TOML is refused with its line", () => {
  const [problem] = read({ "pyproject.toml": "[project]\nname = toy\n" }).problems;
  expect(problem).toMatchObject({ id: "unreadable-file", fix: expect.stringContaining("line 2") });
});

test("a folder without pyproject.toml, and a damaged wheelhouse.json, are problems", () => {
  expect(read({}).problems).toMatchObject([{ path: "environments/toy/pyproject.toml" }]);
  const damaged = read({ "pyproject.toml": PYPROJECT, "wheelhouse.json": '{"files": [' });
  expect(damaged.problems).toMatchObject([{ path: "environments/toy/wheelhouse.json" }]);
});

test.each([
  ["Nvidia_Cutlass.DSL[cu13]==4.5.1", { name: "nvidia-cutlass-dsl", extras: ["cu13"], specifier: "==4.5.1" }],
  [
    "a (>=1, <2) ; python_version < '3.12'",
    { name: "a", specifier: ">=1,<2", marker: "python_version < '3.12'" },
  ],
  [
    "s @ git+https://example.org/s@f88acf",
    { name: "s", specifier: "", url: "git+https://example.org/s@f88acf" },
  ],
])("the requirement %s is understood", (text, expected) => {
  expect(parseRequirement(text)).toMatchObject(expected);
});

// Lab tests that run at the same time make folders of their own.
test.each(lockNames(PROJECT).filter((name) => !name.startsWith("tmp-")))(
  "environments/%s has no problems",
  (name) => {
    expect(readdirSync(path.join(PROJECT, "environments", name))).toContain("pyproject.toml");
    expect(readEnvironmentFolder(name, PROJECT).problems).toEqual([]);
  },
);
