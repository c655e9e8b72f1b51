import { inParallel } from "../../../cli/fleet/pool";

test("so many at a time, and results in the order of the items", async () => {
  let running = 0;
  let most = 0;
  const results = await inParallel([30, 5, 20, 1, 1], 2, async (milliseconds) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    running -= 1;
    return milliseconds;
  });
  expect(most).toBe(2);
  expect(results).toEqual([30, 5, 20, 1, 1]);
});

test("fewer items than workers, and none", async () => {
  expect(await inParallel([1], 4, (item) => Promise.resolve(item * 2))).toEqual([2]);
  expect(await inParallel([], 4, () => Promise.reject(new Error("never called")))).toEqual([]);
});
