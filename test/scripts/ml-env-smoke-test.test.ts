import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { SCRIPTS } from "../../plan/script";
import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** Installs a package of one module, as far as Python can tell. */
function install(name: string, version: string, modules: Record<string, string> = {}): void {
  sandbox.write(
    `site/${name.replaceAll("-", "_")}-${version}.dist-info/METADATA`,
    `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
  );
  for (const [path, text] of Object.entries(modules)) sandbox.write(`site/${path}`, text);
}

/** Runs the smoke test; an architectures tool that answers `found`. */
function smokeTest(
  lock: string,
  test: object,
  { wheels = [] as string[], found = {}, options = [] as string[] } = {},
) {
  const tool = sandbox.write("tool.py", `import json; print(json.dumps(${JSON.stringify(found)}))`);
  const words = [
    join(SCRIPTS, "tools", "ml-env-smoke-test.py"),
    ...options,
    sandbox.write("lock", lock),
    sandbox.write("test.json", JSON.stringify({ imports: [], architectures: [], ...test })),
    tool,
    ...wheels,
  ];
  const { status, stdout, stderr } = spawnSync("python3", words, {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: sandbox.path("site") },
  });
  return {
    status,
    said: stdout.trim(),
    wrong: stderr
      .trim()
      .split("\n")
      .filter((line) => line !== ""),
  };
}

const TORCH = { "torch/__init__.py": "from . import version\n", "torch/version.py": 'cuda = "13.0"\n' };

describe("the smoke test of an environment", () => {
  it("passes when versions, imports and CUDA are as declared", () => {
    install("torch", "2.11.0", TORCH);
    expect(
      smokeTest("torch==2.11.0 \\\n    --hash=sha256:00\n", { imports: ["torch"], cuda: "13.0" }),
    ).toMatchObject({ status: 0, wrong: [] });
  });

  it("names every package of the lock at another version, or not there", () => {
    install("Some.Package", "1.0");
    const { status, wrong } = smokeTest("some-package==1.1 \\\n    --hash=sha256:00\nabsent==2\n", {});
    expect(status).toBe(1);
    expect(wrong).toEqual([
      "some-package: 1.0 is installed, the lock says 1.1",
      "absent: not installed, the lock says 2",
    ]);
  });

  it("does not ask for packages that a marker leaves out", () => {
    expect(smokeTest('lab-absent==0.4 ; sys_platform == "win32" \\\n    --hash=sha256:00\n', {}).status).toBe(
      0,
    );
  });

  it("asks for the version of a wheel that was built in place of the lock's", () => {
    install("sgl-kernel", "0.3.21+g1234");
    const wheels = ["/wheels/x/sgl_kernel-0.3.21+g1234-cp310-abi3-linux_x86_64.whl"];
    expect(smokeTest("sgl-kernel==0.3.21\n", {}, { wheels })).toMatchObject({
      status: 0,
      wrong: [],
    });
  });

  it("imports in the declared order and says which one fails, and how", () => {
    install("torch", "2.11.0", TORCH);
    install("sgl-kernel", "0.3.21", {
      "sgl_kernel/__init__.py": 'import torch\nraise ImportError("undefined symbol: _ZN3c10")\n',
    });
    expect(smokeTest("", { imports: ["torch", "sgl_kernel"] }).wrong).toEqual([
      "import sgl_kernel: ImportError: undefined symbol: _ZN3c10",
    ]);
  });

  it("refuses a torch of another CUDA", () => {
    install("torch", "2.11.0", TORCH);
    expect(smokeTest("", { cuda: "12.8" }).wrong).toEqual(["torch.version.cuda is 13.0, declared is 12.8"]);
  });

  it("refuses kernels without code for a declared card", () => {
    install("sgl-kernel", "0.3.21", { "sgl_kernel/__init__.py": "", "sgl_kernel/ops.abi3.so": "" });
    const found = { "ops.abi3.so": ["sm_90"] };
    expect(smokeTest("", { architectures: ["sm_90"] }, { found }).status).toBe(0);
    expect(smokeTest("", { architectures: ["sm_120"] }, { found }).wrong).toEqual([
      "sgl_kernel holds no code for sm_120, only for sm_90",
    ]);
  });
});

describe("an environment that was tested in another container", () => {
  const record = () => sandbox.path("record.json");
  const test = { imports: ["torch"] };
  /** A library of the system, and a package that uses it: a second import would fail. */
  beforeEach(() => {
    sandbox.write("system/library.txt", "one");
    install("torch", "2.11.0", {
      "torch/__init__.py": `import pathlib
assert not pathlib.Path(${JSON.stringify(sandbox.path("once"))}).exists()
pathlib.Path(${JSON.stringify(sandbox.path("once"))}).touch()
open(${JSON.stringify(sandbox.path("system/library.txt"))}).close()
`,
    });
    expect(smokeTest("", test, { options: ["--record", record()] }).status).toBe(0);
  });
  const again = (change: object = {}) =>
    smokeTest("", { ...test, ...change }, { options: ["--recorded", record()] });

  it("is not imported again where all that the imports used is the same", () => {
    expect(again()).toEqual({
      status: 0,
      said: "imports not repeated: everything they use is the same as where they were tested",
      wrong: [],
    });
  });

  it.each([
    ["a file of the system is another", () => sandbox.write("system/library.txt", "two")],
    ["a file of the system is not there", () => rmSync(sandbox.path("system/library.txt"))],
    ["the record is not there", () => rmSync(record())],
    [
      "the processor is another",
      () =>
        writeFileSync(
          record(),
          readFileSync(record(), "utf8").replace(/"processor": "\w+/, '"processor": "another'),
        ),
    ],
  ])("is imported again where %s", (_what, change) => {
    change();
    expect(again()).toMatchObject({
      status: 1,
      said: expect.stringContaining("imports repeated here: ") as string,
    });
  });

  it("is imported again where the test is another", () => {
    expect(again({ cuda: "13.0" }).said).toBe("imports repeated here: another test");
  });

  it("leaves no record of a test that failed", () => {
    rmSync(record());
    expect(smokeTest("", test, { options: ["--record", record()] }).status).toBe(1);
    expect(existsSync(record())).toBe(false);
  });
});
