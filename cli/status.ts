import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { exitCodeOf, jsonOf, lookAtStack, type Look, type StackStatus } from "./status/look";
import { chosenStacks } from "./status/stacks";
import { statusText } from "./status/text";
import { drawer, repeat } from "./status/watch";

export interface StatusOptions {
  readonly json?: boolean;
  /** Seconds between two looks; true: the default. */
  readonly watch?: string | true;
}

const WATCH_SECONDS = 10;
/** A host that hangs must not keep a watcher from seeing the others; one look has the time that its parts may take. */
const LIMIT_SECONDS = { watching: 30, once: 180 };

function secondsOf(watch: string | true): number {
  if (watch === true) return WATCH_SECONDS;
  const seconds = Number(watch);
  if (/^\d+$/.test(watch) && seconds >= 1 && seconds <= 86_400) return seconds;
  throw new UsageError(
    `--watch ${watch}: write whole seconds from 1 to 86400, and stacks before it: ./stack status ${watch} --watch`,
  );
}

/** Raised by Ctrl-C, so that connections end and their keys are taken away before the program does. */
function interruption(): { signal: AbortSignal; forget: () => void } {
  const controller = new AbortController();
  const raise = (): void => controller.abort();
  process.on("SIGINT", raise).on("SIGTERM", raise);
  return {
    signal: controller.signal,
    forget: () => process.off("SIGINT", raise).off("SIGTERM", raise),
  };
}

/** All stacks side by side, one connection each. */
function lookAtAll(
  looks: readonly ((look: Look) => Promise<StackStatus>)[],
  look: Look,
): Promise<StackStatus[]> {
  return Promise.all(looks.map((one) => one(look)));
}

/**
 * `./stack status [STACK…] [--watch [SECONDS]] [--json]`: how stacks are; nothing changes there. Without STACK: every stack
 * of the project that is in service. The exit code is the worst of the (last) look.
 */
export async function status(named: readonly string[], options: StatusOptions): Promise<ExitCode> {
  const { watch, json } = options;
  const seconds = watch === undefined ? undefined : secondsOf(watch);
  const { stacks, leftOut } = chosenStacks(named);
  for (const line of leftOut) process.stderr.write(`not asked: ${line}\n`);
  if (stacks.length === 0) throw new UsageError("no stack is in service: name one");
  const looks = stacks.map(lookAtStack);
  const { signal, forget } = interruption();
  try {
    if (seconds === undefined) {
      const seen = await lookAtAll(looks, { signal, limitSeconds: LIMIT_SECONDS.once });
      if (signal.aborted) return EXIT.problems;
      process.stdout.write(`${json === true ? JSON.stringify(jsonOf(seen), null, 2) : statusText(seen)}\n`);
      return exitCodeOf(seen);
    }
    // Before the first look nothing is known.
    let code: ExitCode = EXIT.problems;
    const draw = drawer(process.stdout);
    await repeat(
      () => lookAtAll(looks, { signal, limitSeconds: LIMIT_SECONDS.watching }),
      (seen) => {
        code = exitCodeOf(seen);
        if (json === true) process.stdout.write(`${JSON.stringify(jsonOf(seen))}\n`);
        else draw(`${new Date().toISOString()}, every ${seconds} s\n${statusText(seen)}`);
      },
      seconds,
      signal,
    );
    return code;
  } finally {
    forget();
  }
}
