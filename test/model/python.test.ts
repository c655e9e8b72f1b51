import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const modules = readdirSync(__dirname)
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.replace(".py", ""));

test("there are Python tests", () => {
  expect(modules.length).toBeGreaterThanOrEqual(3);
});

test.each(modules)(
  "%s passes",
  (name) => {
    const result = spawnSync("python3", ["-B", "-m", "unittest", name], { cwd: __dirname, encoding: "utf8" });
    // The whole output is the message when something fails.
    expect(result.status === 0 ? "" : result.stderr + result.stdout).toBe("");
    expect(Number(/Ran (\d+) tests?/.exec(result.stderr)?.[1])).toBeGreaterThan(0);
  },
  120_000,
);
