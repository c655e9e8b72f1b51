/** A closed terminal must end what runs as properly as Ctrl-C: nobody watches it any more. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Ctrl-C while stacks run: passed on to what listens, once each time it is pressed. */
export class Interruption {
  private presses = 0;
  private readonly listeners = new Set<() => void>();

  constructor() {
    this.watch();
  }

  /** From now on Ctrl-C does not end the program. */
  watch(): void {
    for (const signal of SIGNALS) process.on(signal, this.press);
  }

  /** Whether it was pressed. */
  get raised(): boolean {
    return this.presses > 0;
  }

  /**
   * Has a function called at every press.
   *
   * @returns ends that
   */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** From now on Ctrl-C ends the program again. */
  forget(): void {
    for (const signal of SIGNALS) process.off(signal, this.press);
  }

  private readonly press = (): void => {
    this.presses += 1;
    for (const listener of [...this.listeners]) listener();
  };
}
