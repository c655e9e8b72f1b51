import { writeFileSync } from "node:fs";
import { Checkout } from "./support/checkout";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

describe("scripts/lib/progress.sh", () => {
  let checkout: Checkout;
  beforeEach(() => (checkout = new Checkout()));
  afterEach(() => checkout.remove());

  const run = async (steps: string): Promise<string[]> => {
    const { stdout, stderr } = await checkout.bash(`set -euo pipefail; . scripts/lib/progress.sh; ${steps}`);
    expect(stdout).toBe("");
    return stderr.trim().split("\n");
  };

  test("a step is announced with the seconds so far, and with its last duration once there is one", async () => {
    const first = await run('step_begin "building it"; sleep 1; step_begin next; step_end');
    expect(first).toEqual(["[0s] building it", expect.stringMatching(/^\[[12]s\] next$/)]);
    const second = await run('step_begin "building it"; step_note half');
    expect(second).toEqual([
      expect.stringMatching(/^\[0s\] building it \(last time [12]s\)$/),
      expect.stringMatching(/^\[[01]s\] building it: half$/),
    ]);
  });

  test("a step that fails leaves the remembered duration as it was", async () => {
    await run('step_begin "a/b: c"; step_end');
    writeFileSync(checkout.path("cache/durations/a-b--c"), "77\n");
    await run('step_begin "a/b: c"; false || exit 1');
    expect(await run('step_begin "a/b: c"')).toEqual(["[0s] a/b: c (last time 77s)"]);
  });

  test("a script that is called counts on from its caller's start", async () => {
    const lines = await run(
      "export PROGRESS_STARTED_AT=$(($(date +%s) - 30)); bash -c '. scripts/lib/progress.sh; step_begin inner'",
    );
    expect(lines).toEqual([expect.stringMatching(/^\[3[01]s\] inner$/)]);
  });
});
