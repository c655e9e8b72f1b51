import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { readEnvironmentFolder } from "../../config/environment-folder";
import { checkPins, pin } from "../../cli/pin";
import { PackageIndex } from "./support/package-index";

jest.setTimeout(60_000);

let index: PackageIndex;
let projectDirectory: string;
let said: string;

beforeEach(async () => {
  index = new PackageIndex();
  await index.start();
  projectDirectory = mkdtempSync(path.join(tmpdir(), "pin-"));
  said = "";
  const hear = (text: unknown) => {
    said += String(text);
    return true;
  };
  jest.spyOn(process.stdout, "write").mockImplementation(hear);
  jest.spyOn(process.stderr, "write").mockImplementation(hear);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await index.stop();
});

/** Writes environments/toy/pyproject.toml. */
function toy(dependencies: readonly string[], more = "", imports: readonly string[] = []): void {
  const folder = path.join(projectDirectory, "environments/toy");
  mkdirSync(folder, { recursive: true });
  const text = `[project]
name = "toy"
version = "1"
requires-python = ">=3.11"
dependencies = ${JSON.stringify(dependencies)}
${more}
[tool.proxmox-gpu-stack.smoke-test]
imports = ${JSON.stringify(imports)}
`;
  writeFileSync(path.join(folder, "pyproject.toml"), text);
}

const run = (options: { importTest?: boolean } = {}) =>
  pin(["toy"], { index: index.url, dir: path.join(projectDirectory, "house"), projectDirectory, ...options });
const resolveOnly = () => run({ importTest: false });
const folder = () => readEnvironmentFolder("toy", projectDirectory);
const files = () => readdirSync(path.join(projectDirectory, "environments/toy")).sort();
const versions = () => folder().lock?.packages.map(({ name, version }) => `${name} ${version}`);

test("an environment is resolved, fetched, imported, and written with every hash and the exact files", async () => {
  index.offer(
    { name: "six", version: "1.17.0" },
    { name: "packaging", version: "26.0", requires: ["six>=1"], code: "import six" },
  );
  toy(["packaging"], "", ["packaging"]);
  expect(await run()).toBe(0);
  const { lock, files: listed } = folder();
  expect(lock?.text).toMatch(
    /^# Made by .\/stack pin .*\n# inputs: sha256:[0-9a-f]{64}\n# import test: passed \(packaging\)\n/,
  );
  expect(lock?.text).not.toContain("://");
  expect(lock?.packages).toEqual([
    { name: "packaging", version: "26.0", hashes: [index.file("packaging").sha256] },
    { name: "six", version: "1.17.0", hashes: [index.file("six").sha256] },
  ]);
  expect(listed).toEqual(
    ["packaging", "six"].map((name) => ({
      name: index.file(name).name,
      sha256: index.file(name).sha256,
      bytes: index.file(name).bytes,
      package: name,
    })),
  );
  expect(checkPins(["toy"], { projectDirectory })).toBe(0);
  toy(["packaging", "six>=2"], "", ["packaging"]);
  expect(checkPins(["toy"], { projectDirectory })).toBe(1);
  expect(said).toContain("pyproject.toml asks for six>=2, the lock has 1.17.0");
});

test("the same input gives the same lock", async () => {
  index.offer({ name: "six", version: "1.17.0" });
  toy(["six"]);
  await resolveOnly();
  const before = folder().lock?.text;
  await resolveOnly();
  expect(folder().lock?.text).toBe(before);
});

test("nothing is written when an import fails, and what was there stays", async () => {
  index.offer({ name: "six", version: "1.17.0", code: "raise RuntimeError('built for another torch')" });
  toy(["six"], "", ["six"]);
  writeFileSync(path.join(projectDirectory, "environments/toy/requirements.lock"), "six==1.0\n");
  expect(await run()).toBe(1);
  expect(said).toContain("import six: RuntimeError: built for another torch");
  expect(files()).toEqual(["pyproject.toml", "requirements.lock"]);
  expect(versions()).toEqual(["six 1.0"]);
});

test("an import that only lacks a GPU's driver is told, and is no failure", async () => {
  const code = "raise ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')";
  index.offer({ name: "kernel", version: "1", code });
  toy(["kernel"], "", ["kernel"]);
  expect(await run()).toBe(0);
  expect(said).toContain("needs a GPU, not tried: import kernel: ImportError: libcuda.so.1: cannot open");
  expect(folder().lock?.text).toContain("# import test: passed (nothing to import); need a GPU: kernel\n");
});

test("a library of another CUDA is a failure, although the driver is missing too", async () => {
  const lacking = (name: string) => `${name}: cannot open shared object file: No such file or directory`;
  const code = `raise ImportError('${lacking("libcuda.so.1")}, ${lacking("libcudart.so.12")}')`;
  index.offer({ name: "kernel", version: "1", code });
  toy(["kernel"], "", ["kernel"]);
  expect(await run()).toBe(1);
  expect(said).toContain("import kernel: there is no libcudart.so.12");
  expect(files()).toEqual(["pyproject.toml"]);
});

test("a pre-release is taken only for a package that is named with one", async () => {
  for (const name of ["beta", "stable"]) index.offer({ name, version: "1.0" }, { name, version: "2.0b3" });
  toy(["beta>=2.0b1", "stable"]);
  expect(await resolveOnly()).toBe(0);
  expect(versions()).toEqual(["beta 2.0b3", "stable 1.0"]);
});

test("a known breakage constrains the packages that it is about, once its condition is met", async () => {
  const kernels = ["0.12.3", "0.17.2"].map((version) => ({ name: "kernels", version }));
  const transformers = ["5.5.0", "5.6.0"].map((version) => ({
    name: "transformers",
    version,
    requires: ["kernels"],
  }));
  index.offer(...kernels, ...transformers);
  toy(["transformers==5.6.0"]);
  expect(await resolveOnly()).toBe(0);
  expect(versions()).toEqual(["kernels 0.12.3", "transformers 5.6.0"]);
  toy(["transformers==5.5.0"]);
  expect(await resolveOnly()).toBe(0);
  expect(versions()).toEqual(["kernels 0.17.2", "transformers 5.5.0"]);
});

const NIGHTLY = (url: string) => `
[tool.uv]
override-dependencies = ["torch==2.13.0.dev20260307"]

[[tool.uv.index]]
name = "nightly"
url = "${url}"
explicit = true

[tool.uv.sources]
torch = { index = "nightly" }
`;

test("a release's pins hold, and an override from a nightly index without hashes goes past them", async () => {
  const torch = ["2.11.0", "2.12.0"].map((version) => ({ name: "torch", version }));
  index.offer({ name: "sglang", version: "0.5.11", requires: ["torch"] }, ...torch);
  toy(["sglang==0.5.11"]);
  expect(await resolveOnly()).toBe(0);
  expect(versions()).toEqual(["sglang 0.5.11", "torch 2.11.0"]);

  const nightly = new PackageIndex();
  await nightly.start();
  try {
    nightly.tellsHashes = false;
    nightly.offer({ name: "torch", version: "2.13.0.dev20260307" });
    toy(["sglang==0.5.11", "torch"], NIGHTLY(nightly.url));
    expect(await resolveOnly()).toBe(0);
    const { name, sha256, bytes } = nightly.file("torch");
    expect(folder().files?.[1]).toEqual({ name, sha256, bytes, package: "torch", index: "nightly" });
    expect(folder().lock?.packages[1]?.hashes).toEqual([sha256]);
    expect(checkPins(["toy"], { projectDirectory })).toBe(0);
  } finally {
    await nightly.stop();
  }
});

test("a dated pin does not see what was uploaded later", async () => {
  index.offer(
    { name: "six", version: "1.16.0", uploaded: "2026-01-01T00:00:00Z" },
    { name: "six", version: "1.17.0", uploaded: "2026-06-01T00:00:00Z" },
  );
  toy(["six"], '[tool.uv]\nexclude-newer = "2026-05-05T00:00:00Z"');
  expect(await resolveOnly()).toBe(0);
  expect(versions()).toEqual(["six 1.16.0"]);
});

test("what cannot be had is written down instead of a lock, and forgotten when it is there", async () => {
  index.offer({ name: "six", version: "1.17.0" }, { name: "torch", version: "2.11.0" });
  toy(["six", "gone==1", "torch"], NIGHTLY("http://127.0.0.1:9/simple"));
  expect(await resolveOnly()).toBe(1);
  expect(folder().missing).toEqual([
    "gone 1: default index: the server answers 404 Not Found",
    expect.stringMatching(/^torch 2\.13\.0\.dev20260307: index nightly: .*refused$/),
  ]);
  expect(files()).toEqual(["missing.txt", "pyproject.toml"]);
  expect(checkPins(["toy"], { projectDirectory })).toBe(0);
  toy(["six"]);
  expect(await resolveOnly()).toBe(0);
  expect(files()).toEqual(["pyproject.toml", "requirements.lock", "wheelhouse.json"]);
});

test("a lock stays when an index is out of reach for a while", async () => {
  index.offer({ name: "six", version: "1.17.0" });
  toy(["six"]);
  await resolveOnly();
  index.files = [];
  expect(await resolveOnly()).toBe(1);
  expect(said).toContain("the lock that is there stays");
  expect(versions()).toEqual(["six 1.17.0"]);
  expect(existsSync(path.join(projectDirectory, "environments/toy/missing.txt"))).toBe(false);
});

test("pins that contradict each other are told in the resolver's words, and nothing is missing", async () => {
  index.offer({ name: "six", version: "1.17.0" }, { name: "app", version: "1", requires: ["six>=2"] });
  index.offer({ name: "six", version: "2.0" });
  toy(["app", "six<2"]);
  expect(await resolveOnly()).toBe(1);
  expect(said).toContain("versions of app depend on six>=2");
  expect(files()).toEqual(["pyproject.toml"]);
});

test("a package without a wheel for the platform is refused", async () => {
  index.offer({ name: "six", version: "1.17.0" });
  index.files = index.files.map((file) => ({ ...file, name: file.name.replace("any", "win_amd64") }));
  toy(["six"]);
  expect(await resolveOnly()).toBe(1);
  expect(said).toContain("no wheels with a matching platform tag");
});

test("a mistake in pyproject.toml is told before anything is asked", async () => {
  toy(["six"], '[tool.uv]\nprerelease = "allow"');
  expect(await resolveOnly()).toBe(1);
  expect(said).toContain("environments/toy/pyproject.toml: tool.uv.prerelease");
  expect(index.asked).toEqual([]);
});
