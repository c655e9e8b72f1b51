import { execFile, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const serving = join(__dirname, "..", "..", "lab", "serving");
const tests = join(serving, "tests");
const modules = readdirSync(tests)
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.replace(".py", ""));

/** The interpreter with the locked packages; made once, from the machine's package index. */
const python = spawnSync(join(serving, "test-python"), { encoding: "utf8" });

/** Exit status and output of one module's tests. */
function run(name: string): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      python.stdout.trim(),
      ["-B", "-m", "unittest", name],
      // An interrupted module ends its servers; it must not outlive the test.
      { cwd: tests, timeout: 170_000, killSignal: "SIGINT" },
      (error, _stdout, stderr) => {
        resolve({ status: error ? 1 : 0, output: stderr });
      },
    );
  });
}

test("there is an interpreter with the locked packages", () => {
  expect(python.status === 0 ? "" : python.stderr).toBe("");
});

test("there are tests of wheel, flags, start, stop, answers, HTTP and behaviour", () => {
  expect(modules.length).toBeGreaterThanOrEqual(7);
});

// Most of the time servers wait, so the modules run side by side.
test.concurrent.each(modules)(
  "%s passes",
  async (name) => {
    const { status, output } = await run(name);
    expect(status === 0 ? "" : output).toBe("");
    expect(Number(/Ran (\d+) tests?/.exec(output)?.[1])).toBeGreaterThan(0);
  },
  180_000,
);
