import { join } from "node:path";
import { run } from "./test-lab";

test("the simulated kernel's own tests pass", () => {
  const result = run("python3", [join(__dirname, "test_labkernel.py")]);
  expect(result.stderr).toMatch(/^Ran (\d\d+) tests.*\n\nOK$/m);
  expect(result.status).toBe(0);
});
