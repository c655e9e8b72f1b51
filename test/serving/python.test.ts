import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const serving = join(__dirname, "..", "..", "lab", "serving");
const tests = join(serving, "tests");
const modules = readdirSync(tests)
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.replace(".py", ""));

/** The interpreter with the locked packages; made once, from the machine's package index. */
let python: string;

beforeAll(() => {
  const result = spawnSync(join(serving, "test-python"), { encoding: "utf8" });
  expect(result.status === 0 ? "" : result.stderr).toBe("");
  python = result.stdout.trim();
}, 120_000);

test("there are tests of wheel, flags, start, stop, answers, HTTP and behaviour", () => {
  expect(modules.length).toBeGreaterThanOrEqual(7);
});

test.each(modules)(
  "%s passes",
  (name) => {
    const result = spawnSync(python, ["-B", "-m", "unittest", name], { cwd: tests, encoding: "utf8" });
    expect(result.status === 0 ? "" : result.stderr + result.stdout).toBe("");
    expect(Number(/Ran (\d+) tests?/.exec(result.stderr)?.[1])).toBeGreaterThan(0);
  },
  120_000,
);
