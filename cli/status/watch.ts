/** Looks again and again, and shows each look in the place of the one before, or below it where there is no terminal. */
import { setTimeout as sleep } from "node:timers/promises";

/** Where looks are shown; `process.stdout` is one. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly rows?: number;
  write(text: string): unknown;
}

const CLEAR = "\u001b[2J";
const HOME = "\u001b[H";
const REST_OF_LINE = "\u001b[K";
const REST_OF_SCREEN = "\u001b[J";

/** A text in the place of the one before: only what fits, since a terminal that scrolls would show it twice. */
function redrawn(text: string, rows: number): string {
  const lines = text.split("\n");
  const room = rows - 1;
  const shown =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines: make the window larger`];
  return `${HOME}${shown.map((line) => `${line}${REST_OF_LINE}\n`).join("")}${REST_OF_SCREEN}`;
}

/** Shows one look after the other on a screen. */
export function drawer(screen: Screen): (text: string) => void {
  let first = true;
  return (text) => {
    if (screen.isTTY === true) screen.write(`${first ? CLEAR : ""}${redrawn(text, screen.rows ?? 24)}`);
    else screen.write(`${first ? "" : "\n"}${text}\n`);
    first = false;
  };
}

/** Looks, waits, looks again, until the signal is raised; a look that it interrupts is not shown. */
export async function repeat<T>(
  look: () => Promise<T>,
  show: (seen: T) => void,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const seen = await look();
    if (signal.aborted) return;
    show(seen);
    await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
  }
}
