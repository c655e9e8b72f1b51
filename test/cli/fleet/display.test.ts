import { Display } from "../../../cli/fleet/display";

class Screen {
  text = "";
  constructor(
    readonly isTTY: boolean,
    readonly columns = 80,
    readonly rows = 24,
  ) {}
  write(text: string): void {
    this.text += text;
  }
}

/** What stands on a terminal that understands "up" and "rest of line". */
function seen(text: string): string[] {
  const lines: string[] = [];
  let row = 0;
  // eslint-disable-next-line no-control-regex
  for (const part of text.split(/(\u001b\[\d+A|\n)/)) {
    // eslint-disable-next-line no-control-regex
    const up = /\u001b\[(\d+)A/.exec(part);
    if (up !== null) row -= Number(up[1]);
    else if (part === "\n") row += 1;
    else if (part !== "") lines[row] = part.replace("\u001b[K", "").trimEnd();
  }
  return lines;
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test("without a terminal every change is one line that names its stack", () => {
  const screen = new Screen(false);
  const display = new Display(["kpro5", "a-long-name"], screen);
  display.begin("kpro5", "deploying");
  display.now("kpro5", "creating driver-install: 3 of 7");
  display.tell("kpro5", "created driver-install in 4 s");
  display.end("a-long-name", "unreachable");
  display.close();
  expect(screen.text.split("\n")).toEqual([
    "kpro5        deploying",
    "kpro5        created driver-install in 4 s",
    "a-long-name  unreachable",
    "",
  ]);
});

test("on a terminal each stack keeps its line, which is drawn again in its place", () => {
  const screen = new Screen(true);
  const display = new Display(["kpro5", "kpro6"], screen);
  display.begin("kpro5", "deploying");
  display.now("kpro5", "creating driver-install: building the module");
  jest.advanceTimersByTime(3000);
  display.tell("kpro5", "created driver-kernel in 4 s");
  display.end("kpro6", "unreachable");
  display.close();
  expect(seen(screen.text)).toEqual([
    "kpro5  deploying       3 s  creating driver-install: building the module",
    "kpro6  unreachable",
  ]);
});

test("a message stands above the lines that go on", () => {
  const screen = new Screen(true);
  const display = new Display(["kpro5"], screen);
  display.announce("^C: no further stack is started");
  display.close();
  expect(seen(screen.text).slice(-2)).toEqual(["^C: no further stack is started", "kpro5  waiting"]);
});

test("what does not fit into the window is cut, since a terminal that wraps or scrolls would show it twice", () => {
  const screen = new Screen(true, 20, 4);
  const display = new Display(["a", "b", "c"], screen);
  display.begin("a", "deploying with a long text");
  display.close();
  expect(seen(screen.text)).toEqual(["a  deploying with a", "… 2 more stacks"]);
});
