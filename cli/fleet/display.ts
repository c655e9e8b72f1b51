/** What a person sees while stacks run: on a terminal one line a stack, drawn again and again; else one line a change. */
import type { Screen } from "../status/watch";

/** A terminal's size can change while it is drawn on. */
export interface Terminal extends Screen {
  readonly columns?: number;
}

interface Line {
  state: string;
  detail: string;
  /** When its run began; undefined: it does not run. */
  since: number | undefined;
}

const REDRAWN_EVERY_MS = 500;
const REST_OF_LINE = "\u001b[K";
const up = (lines: number): string => (lines === 0 ? "" : `\u001b[${lines}A`);

export class Display {
  private readonly lines: Map<string, Line>;
  private readonly width: number;
  private readonly timer: NodeJS.Timeout | undefined;
  private drawn = 0;

  constructor(
    stacks: readonly string[],
    private readonly screen: Terminal = process.stderr,
  ) {
    this.lines = new Map(stacks.map((stack) => [stack, { state: "waiting", detail: "", since: undefined }]));
    this.width = Math.max(...stacks.map((stack) => stack.length));
    if (screen.isTTY !== true) return;
    this.draw();
    this.timer = setInterval(() => this.draw(), REDRAWN_EVERY_MS);
  }

  /** The run of a stack begins. */
  begin(stack: string, state: string): void {
    this.lines.set(stack, { state, detail: "", since: Date.now() });
    this.write(stack, state);
  }

  /** Something worth a line of its own where there is no terminal. */
  tell(stack: string, text: string): void {
    this.write(stack, text);
  }

  /** What a stack does at the moment. */
  now(stack: string, detail: string): void {
    const line = this.lines.get(stack);
    if (line !== undefined) line.detail = detail;
  }

  /** The run of a stack is over. */
  end(stack: string, state: string): void {
    this.lines.set(stack, { state, detail: "", since: undefined });
    this.write(stack, state);
  }

  /** Something about all stacks. */
  announce(text: string): void {
    this.screen.write(`${text}\n`);
    // The table goes on below it.
    this.drawn = 0;
  }

  /** Leaves the last state on the screen. */
  close(): void {
    clearInterval(this.timer);
    if (this.screen.isTTY === true) this.draw();
  }

  private write(stack: string, text: string): void {
    if (this.screen.isTTY !== true) this.screen.write(`${stack.padEnd(this.width)}  ${text}\n`);
  }

  /** Only what fits: a terminal that scrolls or wraps would show it twice. */
  private draw(): void {
    const room = Math.max(1, (this.screen.rows ?? 24) - 2);
    const columns = (this.screen.columns ?? 80) - 1;
    const all = [...this.lines].map(([stack, line]) => this.text(stack, line));
    const hidden = all.length - room;
    const shown = hidden <= 0 ? all : [...all.slice(0, room - 1), `… ${hidden + 1} more stacks`];
    this.screen.write(
      `${up(this.drawn)}${shown.map((text) => `${text.slice(0, columns)}${REST_OF_LINE}\n`).join("")}`,
    );
    this.drawn = shown.length;
  }

  private text(stack: string, { state, detail, since }: Line): string {
    const seconds = since === undefined ? "" : `${Math.floor((Date.now() - since) / 1000)} s`;
    return `${stack.padEnd(this.width)}  ${state.padEnd(12)} ${seconds.padStart(6)}  ${detail}`;
  }
}
