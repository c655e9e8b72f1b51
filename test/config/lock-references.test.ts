import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { problemsAfter, project } from "./support";

/** Problems of the sample stack whose environment folder holds these files. */
function problemsOf(files: Record<string, string>) {
  const projectDirectory = project();
  const folder = path.join(projectDirectory, "environments/sglang-0.5.11");
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return problemsAfter(() => undefined, { projectDirectory });
}

const PYPROJECT = '[project]\nname = "toy"\ndependencies = []\n';

test("`up` is refused with everything that a lock would need and nobody has", () => {
  const lines = "# why\ntorch 2.12: gone\nsgl-kernel 0.3.21: no source\n";
  const [problem] = problemsOf({ "pyproject.toml": PYPROJECT, "missing.txt": lines });
  expect(problem).toMatchObject({ id: "lock-missing", blocksUp: true });
  expect(problem?.message).toMatch(
    /missing.txt says what it lacks:\n {2}torch 2.12: gone\n {2}sgl-kernel 0.3.21: no source$/,
  );
});

test("a folder without a lock says how one is made", () => {
  expect(problemsOf({ "pyproject.toml": PYPROJECT })).toMatchObject([
    { id: "lock-missing", blocksUp: true, fix: "./stack pin sglang-0.5.11" },
  ]);
});

test("a mistake in the pyproject of a folder with a lock is an error of the stack", () => {
  const smokeTest = "[tool.proxmox-gpu-stack.smoke-test]\ncuda = 13.0\n";
  const files = { "pyproject.toml": PYPROJECT + smokeTest, "requirements.lock": "sglang==0.5.11\n" };
  expect(problemsOf(files)).toMatchObject([
    {
      severity: "error",
      path: "environments/sglang-0.5.11/pyproject.toml: tool.proxmox-gpu-stack.smoke-test.cuda",
    },
  ]);
});

test("a lock alone is enough", () => {
  expect(problemsOf({ "requirements.lock": "sglang==0.5.11\n" })).toEqual([]);
});
