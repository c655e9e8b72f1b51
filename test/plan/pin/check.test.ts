import path from "node:path";
import { parseLock } from "../../../config/environment/requirements";
import { pyprojectSchema } from "../../../config/environment/schema";
import { readEnvironmentFolder, type EnvironmentFolder } from "../../../config/environment-folder";
import { lockNames } from "../../../config/lock";
import { readWheelRecipes, type WheelRecipes } from "../../../config/wheels";
import { pinProblems, versionsOf } from "../../../plan/pin/check";
import { pinInputs } from "../../../plan/pin/inputs";

const PROJECT = path.join(__dirname, "../../..");
const SHA = (digit: string) => digit.repeat(64);
const NOTHING_BUILT: WheelRecipes = { recipes: [], buildLock: "", problems: [] };

/** An environment of SGLang 0.5.11 whose lock and files agree with its pins. */
function environment(
  changes: Partial<EnvironmentFolder> = {},
  locked: Record<string, string> = {},
): EnvironmentFolder {
  const versions = { kernels: "0.12.3", sglang: "0.5.11", torch: "2.11.0", transformers: "5.6.0", ...locked };
  const { tool } = pyprojectSchema.parse({ project: { name: "toy", dependencies: [] } });
  const own = tool["proxmox-gpu-stack"];
  const body = Object.entries(versions)
    .map(([name, version], at) => `${name}==${version} \\\n    --hash=sha256:${SHA(String(at))}`)
    .join("\n");
  const base = {
    name: "toy",
    folder: "/nowhere/environments/toy",
    dependencies: ["sglang==0.5.11"],
    pythonVersion: "3.11",
    python: undefined,
    smokeTest: own["smoke-test"],
    uv: tool.uv,
    lock: undefined,
    files: Object.entries(versions).map(([name, version], at) => ({
      name: `${name}-${version}-py3-none-any.whl`,
      sha256: SHA(String(at)),
      bytes: 1,
      package: name,
    })),
    missing: [],
    problems: [],
    ...changes,
  } as EnvironmentFolder;
  const { digest } = pinInputs(base, versionsOf(parseLock(body).packages), []);
  return "lock" in changes ? base : { ...base, lock: parseLock(`# inputs: sha256:${digest}\n${body}\n`) };
}

const messages = (folder: EnvironmentFolder, wheels = NOTHING_BUILT) =>
  pinProblems(folder, wheels).map(({ id, message }) => `${id}: ${message}`);

test("a lock that keeps pins, release and known breakages is in order", () => {
  expect(messages(environment())).toEqual([]);
});

test.each([
  ["a dependency", ["sglang==0.5.12"], "pyproject.toml asks for sglang==0.5.12, the lock has 0.5.11"],
  ["another package", ["sglang==0.5.11", "six"], "pyproject.toml asks for six, the lock has no six"],
  [
    "a commit",
    ["x @ git+https://example.org/x@abc"],
    "asks for x @ git+https://example.org/x@abc, the lock has no x",
  ],
])("%s that the lock does not have is named with both versions", (_, dependencies, message) => {
  const { lock } = environment();
  expect(messages(environment({ dependencies, lock })).join("\n")).toContain(message);
});

test("a pin of the release that the lock breaks is named", () => {
  expect(messages(environment({}, { torch: "2.12.0" }))).toEqual([
    "constraint-broken: sglang 0.5.11 asks for torch==2.11.0, the lock has 2.12.0",
  ]);
});

test("a local build of the pinned version keeps the pin", () => {
  expect(messages(environment({}, { torch: "2.11.0+cu130" }))).toEqual([]);
});

test("a known breakage is named while its condition holds", () => {
  expect(messages(environment({}, { kernels: "0.17.2" }))).toEqual([
    "constraint-broken: P2 asks for kernels>=0.12,<0.13, the lock has 0.17.2",
  ]);
  const other = messages(environment({}, { kernels: "0.17.2", transformers: "5.5.0" }));
  expect(other).toEqual([
    "constraint-broken: sglang 0.5.11 asks for transformers==5.6.0, the lock has 5.5.0",
  ]);
});

test("nothing is asked of a package that is overridden by name, but the lock must have the override", () => {
  const { uv } = environment();
  const overriding = { uv: { ...uv, "override-dependencies": ["torch==2.12.0.dev20260307+cu130"] } };
  expect(messages(environment(overriding, { torch: "2.12.0.dev20260307+cu130" }))).toEqual([]);
  expect(messages(environment(overriding))).toEqual([
    "lock-differs: pyproject.toml asks for torch==2.12.0.dev20260307+cu130, the lock has 2.11.0",
  ]);
});

test("a lock that was made from other settings is outdated", () => {
  const { lock, uv } = environment();
  const dated = environment({ uv: { ...uv, "exclude-newer": "2026-05-05" }, lock });
  expect(messages(dated).join()).toMatch(
    /^lock-outdated: it was made from inputs [0-9a-f]{12}…, pins and catalog are/,
  );
});

test("the smoke test is no input of a lock", () => {
  const { lock } = environment();
  const smokeTest = { imports: ["torch"], architectures: [], cuda: "13.0" };
  expect(messages(environment({ smokeTest, lock }))).toEqual([]);
});

test("a lock without inputs is a warning", () => {
  const { lock } = environment();
  const text = lock?.text.replace(/^#.*\n/, "") ?? "";
  expect(pinProblems(environment({ lock: parseLock(text) }), NOTHING_BUILT)).toMatchObject([
    { id: "lock-without-inputs", severity: "warning" },
  ]);
});

test("a file that the lock does not accept, one too many and one too few are named", () => {
  const { files = [] } = environment();
  const [kernels, sglang, torch, transformers] = files;
  const wrong = [{ ...kernels, sha256: SHA("f") }, sglang, { ...torch, package: "six" }, transformers];
  expect(messages(environment({ files: wrong as typeof files }))).toEqual([
    "wheelhouse-differs: kernels-0.12.3-py3-none-any.whl has sha256 ffffffffffff…, which the lock does not accept for kernels 0.12.3",
    "wheelhouse-differs: torch-2.11.0-py3-none-any.whl is of six, which the lock does not have",
    "wheelhouse-lacks-package: the lock has torch 2.11.0, wheelhouse.json has no file of it",
  ]);
});

test("a lock needs its list of files", () => {
  expect(messages(environment({ files: undefined }))).toEqual([
    "wheelhouse-missing: there is no wheelhouse.json",
  ]);
});

test("a pinned interpreter must be among the files", () => {
  const python = { version: "3.11.14", url: "https://example.org/python.tar.gz", sha256: SHA("e") };
  expect(messages(environment({ python }))).toEqual([
    "wheelhouse-lacks-archive: wheelhouse.json has no file with the sha256 of Python 3.11.14",
  ]);
});

test("no lock is in order only where missing.txt says why; both at once are not", () => {
  expect(messages(environment({ lock: undefined }))).toEqual(["lock-missing: there is no lock"]);
  expect(messages(environment({ lock: undefined, missing: ["torch 2.12: gone"] }))).toEqual([]);
  expect(messages(environment({ missing: ["torch 2.12: gone"] }))).toEqual([
    "lock-and-missing: missing.txt stands beside a lock",
  ]);
});

// Lab tests that run at the same time make folders of their own.
test.each(lockNames(PROJECT).filter((name) => !name.startsWith("tmp-")))(
  "pins and lock of environments/%s agree",
  (name) => {
    const problems = pinProblems(readEnvironmentFolder(name, PROJECT), readWheelRecipes(name, PROJECT));
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  },
);
