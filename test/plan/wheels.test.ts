import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import type { ToolkitConfig } from "../../config/schema/toolkits";
import { toolkitComponents, toolkitDigest, toolkitPath } from "../../plan/toolkit-steps";
import { compileJobs } from "../../plan/wheel-jobs";
import { localVersion, wheelDigests, type BuildChoice } from "../../plan/wheel-steps";

const TOOLKIT: ToolkitConfig = {
  version: "13.0.2",
  installer: { url: "http://files.example.org/cuda.run", sha256: "a".repeat(64) },
};
const CHOICE: BuildChoice = { python: "3.11", toolkit: TOOLKIT };
const LOCK = "kernels";

const RECIPE = `
[[wheel]]
package = "kernels"
version = "0.3.21"
cuda = "13.0"
architectures = ["sm_120a"]
imports = ["kernels"]
[wheel.source]
url = "http://files.example.org/kernels.tar.gz"
sha256 = "${"1".repeat(64)}"
[[wheel.vendored]]
name = "repo-cutlass"
url = "http://files.example.org/cutlass.tar.gz"
sha256 = "${"2".repeat(64)}"
[wheel.environment]
A = "1"
B = "2"
[wheel.cmake]
THREADS = "1"
`;

let project: string;
const file = (name: string) => path.join(project, "environments", LOCK, name);
const change = (name: string, from: string, to: string) => {
  const text = readFileSync(file(name), "utf8");
  expect(text).toContain(from);
  writeFileSync(file(name), text.replace(from, to));
};
const digest = (choice: BuildChoice = CHOICE) => {
  const digests = wheelDigests(LOCK, project, choice);
  expect(digests).toHaveLength(1);
  return digests[0];
};

beforeEach(() => {
  project = mkdtempSync(path.join(tmpdir(), "wheels-"));
  mkdirSync(file("patches/kernels"), { recursive: true });
  writeFileSync(file("wheels.toml"), RECIPE);
  writeFileSync(file("build.lock"), "cmake==4.1.3 --hash=sha256:00\n");
  writeFileSync(file("pyproject.toml"), '[project]\nname = "kernels"\ndependencies = []\n');
  writeFileSync(
    file("requirements.lock"),
    `torch==2.9.1 \\\n    --hash=sha256:${"3".repeat(64)}\norjson==3.11.4 \\\n    --hash=sha256:${"4".repeat(64)}\n`,
  );
  writeFileSync(file("patches/kernels/01-one.patch"), "--- a/x\n+++ b/x\n");
});
afterEach(() => {
  rmSync(project, { recursive: true });
});

describe("a wheel's digest changes with", () => {
  it.each<[string, () => void]>([
    ["its version", () => change("wheels.toml", "0.3.21", "0.3.22")],
    ["its source", () => change("wheels.toml", "1".repeat(64), "5".repeat(64))],
    ["a third-party source", () => change("wheels.toml", "2".repeat(64), "5".repeat(64))],
    ["the name of a third-party source", () => change("wheels.toml", "repo-cutlass", "repo-other")],
    ["a variable of the build", () => change("wheels.toml", 'B = "2"', 'B = "3"')],
    ["a CMake setting", () => change("wheels.toml", 'THREADS = "1"', 'THREADS = "2"')],
    ["an expected architecture", () => change("wheels.toml", "sm_120a", "sm_86")],
    ["the text of a patch", () => change("patches/kernels/01-one.patch", "+++ b/x", "+++ b/y")],
    ["one more patch", () => writeFileSync(file("patches/kernels/02-two.patch"), "x")],
    ["a build requirement", () => change("build.lock", "4.1.3", "4.1.4")],
    ["torch", () => change("requirements.lock", "torch==2.9.1", "torch==2.10.0")],
    ["a file of torch", () => change("requirements.lock", "3".repeat(64), "5".repeat(64))],
  ])("%s", (_, alter) => {
    const before = digest();
    alter();
    expect(digest()).not.toBe(before);
  });

  it.each<[string, BuildChoice]>([
    ["Python", { ...CHOICE, python: "3.12" }],
    ["the toolkit's version", { ...CHOICE, toolkit: { ...TOOLKIT, version: "13.0.1" } }],
    [
      "the toolkit's installer",
      { ...CHOICE, toolkit: { ...TOOLKIT, installer: { ...TOOLKIT.installer, sha256: "b".repeat(64) } } },
    ],
    ["the toolkit's components", { ...CHOICE, toolkit: { ...TOOLKIT, components: ["cuda_nvcc"] } }],
    ["no toolkit", { ...CHOICE, toolkit: undefined }],
  ])("%s", (_, choice) => {
    expect(digest(choice)).not.toBe(digest());
  });
});

describe("a wheel's digest stays with", () => {
  it.each<[string, () => void]>([
    [
      "a mirror of a source whose checksum is known",
      () => change("wheels.toml", "files.example.org/k", "mirror.org/k"),
    ],
    ["another order of variables", () => change("wheels.toml", 'A = "1"\nB = "2"', 'B = "2"\nA = "1"')],
    ["a package that is not torch", () => change("requirements.lock", "orjson==3.11.4", "orjson==3.11.5")],
  ])("%s", (_, alter) => {
    const before = digest();
    alter();
    expect(digest()).toBe(before);
  });

  it("another folder of the same content", () => {
    cpSync(path.join(project, "environments", LOCK), path.join(project, "environments", "copy"), {
      recursive: true,
    });
    expect(wheelDigests("copy", project, CHOICE)).toEqual([digest()]);
  });
});

it("an environment without wheels.toml has no wheels", () => {
  rmSync(file("wheels.toml"));
  expect(wheelDigests(LOCK, project, CHOICE)).toEqual([]);
});

it.each([
  [128, 16, 16],
  [128, 64, 24],
  [48, 16, 8],
  [18, 16, 2],
  [13, 16, 1],
  [12, 16, 1],
  [4, 2, 1],
])("%d GiB and %d cores run %d compilers at once", (memory, cores, jobs) => {
  expect(compileJobs(memory, cores)).toBe(jobs);
});

it("the local version carries the digest, as PEP 440 writes it", () => {
  expect(localVersion("0.3.21", "1a2b3c4d5e6f")).toBe("0.3.21+pgs.1a2b3c4d5e6f");
  expect(localVersion("0.3.21", "001234567890")).toBe("0.3.21+pgs.1234567890");
  expect(localVersion("0.3.21", "00a234567890")).toBe("0.3.21+pgs.00a234567890");
});

describe("a toolkit", () => {
  it("lies in a folder of its version", () => {
    expect(toolkitPath(TOOLKIT)).toBe("/opt/proxmox-gpu-stack/toolkits/cuda-13.0.2");
  });

  it("has the compiler's parts of its series, and nothing that is not for compiling", () => {
    const parts = (version: string) => toolkitComponents({ ...TOOLKIT, version });
    expect(parts("13.0.2")).toEqual(
      expect.arrayContaining(["cuda_nvcc", "libnvvm", "cuda_crt", "libcublas"]),
    );
    expect(parts("12.9.1")).not.toEqual(expect.arrayContaining(["libnvvm"]));
    expect(parts("12.9.1")).toContain("cuda_nvcc");
    expect(parts("13.0.2")).not.toContain("cuda_cupti");
  });

  it("has the stated components in any order", () => {
    const one = toolkitDigest({ ...TOOLKIT, components: ["cuda_nvcc", "cuda_cccl"] });
    expect(toolkitDigest({ ...TOOLKIT, components: ["cuda_cccl", "cuda_nvcc"] })).toBe(one);
  });
});
