import { spawnSync } from "node:child_process";
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
function smokeTest(lock: string, test: object, { wheels = [] as string[], found = {} } = {}) {
  const tool = sandbox.write("tool.py", `import json; print(json.dumps(${JSON.stringify(found)}))`);
  const words = [
    join(SCRIPTS, "tools", "ml-env-smoke-test.py"),
    sandbox.write("lock", lock),
    sandbox.write("test.json", JSON.stringify({ imports: [], architectures: [], ...test })),
    tool,
    ...wheels,
  ];
  const { status, stderr } = spawnSync("python3", words, {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: sandbox.path("site") },
  });
  return {
    status,
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
    ).toEqual({
      status: 0,
      wrong: [],
    });
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
    expect(smokeTest("sgl-kernel==0.3.21\n", {}, { wheels })).toEqual({ status: 0, wrong: [] });
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
