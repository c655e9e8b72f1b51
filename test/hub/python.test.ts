import { spawnSync } from "node:child_process";
import { join } from "node:path";

const lab = join(__dirname, "..", "..", "lab");

// The model hub and the package index relay have their tests beside the code.
test.each(["hub", "index"])(
  "the Python tests of lab/%s pass",
  (folder) => {
    const result = spawnSync("python3", ["-B", "-m", "unittest"], {
      cwd: join(lab, folder),
      encoding: "utf8",
    });
    expect(result.status === 0 ? "" : result.stderr + result.stdout).toBe("");
    expect(Number(/Ran (\d+) tests/.exec(result.stderr)?.[1])).toBeGreaterThan(10);
  },
  60_000,
);
