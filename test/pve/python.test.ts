import { spawnSync } from "node:child_process";
import { join } from "node:path";

const tests = join(__dirname, "../../lab/pve/tests");

test("the Python tests of the lab's Proxmox VE pass", () => {
  const result = spawnSync("python3", ["-m", "unittest", "discover", "-s", tests], { encoding: "utf8" });
  if (result.error) {
    throw new Error(`python3 cannot be run (${result.error.message}); install Python 3.10 or newer`);
  }
  const summary = /Ran (\d+) tests in .*\n\nOK/.exec(result.stderr);
  if (result.status !== 0 || summary === null) {
    throw new Error(result.stderr);
  }
  // A wrong folder would pass with no test at all.
  expect(Number(summary[1])).toBeGreaterThan(150);
}, 120_000);
