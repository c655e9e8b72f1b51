import { spawnSync } from "node:child_process";
import { join } from "node:path";

const lock = join(__dirname, "..", "..", "lab", "serving", "lock");

test("the committed locks hold the wheels that the sources make", () => {
  const result = spawnSync(lock, ["--check"], { encoding: "utf8" });
  expect(result.stderr).toBe("");
  expect(result.status).toBe(0);
});

test.each([
  [["--no-such"], "unknown option --no-such; known are --check"],
  [["--variant", "orjson==1"], "--variant needs --out FILE"],
])("%j is refused before anything is fetched", (options, message) => {
  const result = spawnSync(lock, options, { encoding: "utf8" });
  expect(result.status).toBe(2);
  expect(result.stderr).toContain(message);
});
