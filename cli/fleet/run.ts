/** One stack's preview or `up`, and how it came out. It is never an error: what goes wrong here must not stop the others. */
import path from "node:path";
import { PulumiError } from "../pulumi";
import type { FleetStack } from "./choice";
import type { Display } from "./display";
import { runEngine } from "./engine";
import { counted } from "../review/markdown";
import { failuresOf, type Failure } from "./failure";
import type { Interruption } from "./interruption";
import { writeLog } from "./logs";
import { changed, NOTHING, type Outcome, type Result } from "./outcome";
import { Progress } from "./progress";
import { whyUnreachable } from "./reach";

/** What the runs of all stacks share. */
export interface Surroundings {
  readonly display: Display;
  readonly interruption: Interruption;
  readonly logFolder: string;
}

const STATE: Readonly<Record<"preview" | "up", string>> = { preview: "previewing", up: "deploying" };

function ended(
  { name, config }: FleetStack,
  result: Result,
  rest: Partial<Pick<Outcome, "changes" | "seconds" | "log" | "failures">> = {},
): Outcome {
  return {
    stack: name,
    host: config.host.node,
    result,
    changes: rest.changes ?? NOTHING,
    seconds: rest.seconds ?? 0,
    log: rest.log ?? null,
    failures: rest.failures ?? [],
  };
}

function unreachable({ name, config: { host } }: FleetStack, reason: string, done: string): Failure {
  return {
    message: `${host.node} (${host.address}:${host.sshPort}) cannot be reached: ${reason}; ${done}`,
    fix: `is the host up, its address and port right, and the way to it open? then ./stack fleet up ${name}`,
  };
}

/** @param open what nobody saw the end of */
function cancelled({ name }: FleetStack, operation: "preview" | "up", open: readonly string[]): Failure {
  if (operation === "preview")
    return { message: "its preview was ended by Ctrl-C; nothing was changed", fix: "" };
  const fix = `./stack fleet up ${name} goes on from there`;
  return open.length === 0
    ? { message: "ended by Ctrl-C: what was being done is over, and the state knows how it ended", fix }
    : { message: `dropped by Ctrl-C while ${open.join(", ")}: the state does not know how that ended`, fix };
}

/** Runs Pulumi on a stack; errors become failures. */
async function runPulumi(
  stack: FleetStack,
  operation: "preview" | "up",
  { display, interruption, logFolder }: Surroundings,
): Promise<Outcome> {
  const { name } = stack;
  const log = path.join(logFolder, `${name}.log`);
  const begun = Date.now();
  const progress = new Progress(operation === "preview");
  writeLog(log, `${new Date(begun).toISOString()} pulumi ${operation}, stack ${name}\n`);
  const outcome = (result: Result, failures: readonly Failure[] = []): Outcome =>
    ended(stack, result, {
      changes: progress.changes,
      seconds: (Date.now() - begun) / 1000,
      log,
      failures,
    });
  try {
    await runEngine({
      ...stack,
      operation,
      interruption,
      onText: (text) => writeLog(log, text),
      onEvent: (event) => {
        const line = progress.take(event);
        if (line !== undefined) display.tell(name, line);
        const [liveliest = "", ...others] = progress.now;
        display.now(name, others.length === 0 ? liveliest : `${liveliest} (and ${others.length} more)`);
      },
    });
    if (operation === "up") return outcome("done");
    return outcome(changed(progress.changes) > 0 ? "would change" : "no change");
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    if (interruption.raised) return outcome("cancelled", [cancelled(stack, operation, progress.now)]);
    return outcome("failed", failuresOf(name, progress.complaints, error.message));
  }
}

async function shown(stack: FleetStack, { display }: Surroundings, work: () => Promise<Outcome>) {
  const outcome = await work();
  const count = changed(outcome.changes);
  display.end(stack.name, count === 0 ? outcome.result : `${outcome.result}: ${counted(count, "change")}`);
  return outcome;
}

/** What an `up` would change. No host is dialled. */
export function previewStack(stack: FleetStack, surroundings: Surroundings): Promise<Outcome> {
  return shown(stack, surroundings, async () => {
    if (surroundings.interruption.raised) return ended(stack, "not started");
    surroundings.display.begin(stack.name, STATE.preview);
    return runPulumi(stack, "preview", surroundings);
  });
}

/**
 * Deploys a stack. A host that is not there is told at once and by name, unless nothing is to be done on it.
 *
 * @param preview what its preview said
 */
export function deployStack(
  stack: FleetStack,
  preview: Outcome,
  surroundings: Surroundings,
): Promise<Outcome> {
  return shown(stack, surroundings, async () => {
    if (surroundings.interruption.raised) return ended(stack, "not started");
    surroundings.display.begin(stack.name, STATE.up);
    if (preview.result === "would change") {
      const reason = await whyUnreachable(stack.config);
      if (reason !== undefined)
        return ended(stack, "unreachable", {
          failures: [unreachable(stack, reason, "nothing was changed there")],
        });
    }
    const outcome = await runPulumi(stack, "up", surroundings);
    if (outcome.result !== "failed") return outcome;
    const reason = await whyUnreachable(stack.config);
    if (reason === undefined) return outcome;
    const failures = [unreachable(stack, reason, "it went away while it was deployed"), ...outcome.failures];
    return { ...outcome, result: "unreachable", failures };
  });
}
