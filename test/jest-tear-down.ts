import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Removes the run's temporary folder, and what a test that failed left running in it. */
export default function tearDown(): void {
  spawnSync(join(__dirname, "clean-up"), [tmpdir()], { stdio: "inherit" });
}
