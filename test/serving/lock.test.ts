import { spawnSync } from "node:child_process";
import { join } from "node:path";

const lock = join(__dirname, "..", "..", "lab", "serving", "lock");

test("the committed locks hold the wheels that the sources make", () => {
  const result = spawnSync(lock, ["--check"], { encoding: "utf8" });
  expect(result.stderr).toBe("");
  expect(result.status).toBe(0);
});

test("an unknown option is refused before anything is fetched", () => {
  const result = spawnSync(lock, ["--no-such"], { encoding: "utf8" });
  expect(result.status).toBe(2);
  expect(result.stderr).toContain("unknown option --no-such; known are --check");
});
