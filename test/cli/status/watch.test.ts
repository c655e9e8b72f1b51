import { drawer, repeat, type Screen } from "../../../cli/status/watch";

class Recorder implements Screen {
  readonly written: string[] = [];
  constructor(
    readonly isTTY: boolean,
    readonly rows = 24,
  ) {}
  write(text: string): void {
    this.written.push(text);
  }
}

test("on a terminal a look takes the place of the one before, without its leftovers", () => {
  const screen = new Recorder(true);
  const draw = drawer(screen);
  draw("one\ntwo");
  draw("three");
  expect(screen.written).toEqual([
    "\u001b[2J\u001b[Hone\u001b[K\ntwo\u001b[K\n\u001b[J",
    "\u001b[Hthree\u001b[K\n\u001b[J",
  ]);
});

test("on a terminal that is too small the rest is counted, so that nothing scrolls", () => {
  const screen = new Recorder(true, 5);
  drawer(screen)("1\n2\n3\n4\n5\n6");
  const lines = screen.written.join("").split("\n");
  // The line after the last one is the cursor's.
  expect(lines).toHaveLength(5);
  expect(lines[3]).toContain("… 3 more lines");
});

test("into a pipe looks are plain blocks with an empty line between", () => {
  const screen = new Recorder(false);
  const draw = drawer(screen);
  draw("one");
  draw("two");
  expect(screen.written.join("")).toBe("one\n\ntwo\n");
});

test("looks are repeated until the signal, which cuts the pause short", async () => {
  const controller = new AbortController();
  const shown: number[] = [];
  let looks = 0;
  const show = (look: number): void => {
    shown.push(look);
    if (look === 1) setTimeout(() => controller.abort(), 10);
  };
  await repeat(() => Promise.resolve(++looks), show, 3600, controller.signal);
  expect(shown).toEqual([1]);
});

test("a look that the signal interrupts is not shown", async () => {
  const controller = new AbortController();
  const look = (): Promise<string> => {
    controller.abort();
    return Promise.resolve("half");
  };
  const shown: string[] = [];
  await repeat(look, (text) => shown.push(text), 1, controller.signal);
  expect(shown).toEqual([]);
});
