/** `./stack fleet preview|up`: several stacks at once. docs/how-to/run-a-fleet.md. */
import { createInterface } from "node:readline/promises";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { chooseFleet, type FleetStack } from "./fleet/choice";
import { Display } from "./fleet/display";
import { Interruption } from "./fleet/interruption";
import { makeLogFolder } from "./fleet/logs";
import { announced, atATime, type FleetOptions } from "./fleet/options";
import { changed, exitCodeOf, type Outcome } from "./fleet/outcome";
import { inParallel } from "./fleet/pool";
import { deployStack, previewStack, type Surroundings } from "./fleet/run";
import { summary } from "./fleet/text";
import { counted } from "./review/markdown";
import { say } from "./say";

export interface FleetUpOptions extends FleetOptions {
  readonly yes?: boolean;
}

const CANCELLING = [
  "^C: no further stack is started; those that run finish what they are doing. ^C again drops it, which can leave resources that no state knows.",
  "^C again: what runs is dropped",
];

/** Runs something with every stack, while a person watches and may interrupt. */
async function withAll<T>(
  stacks: readonly FleetStack[],
  interruption: Interruption,
  work: (display: Display) => Promise<T>,
): Promise<T> {
  const display = new Display(stacks.map(({ name }) => name));
  const messages = CANCELLING.values();
  const forget = interruption.listen(() => {
    const { value } = messages.next();
    if (value !== undefined) display.announce(value);
  });
  try {
    return await work(display);
  } finally {
    forget();
    display.close();
  }
}

function previewAll(
  stacks: readonly FleetStack[],
  options: FleetOptions,
  surroundings: Omit<Surroundings, "display">,
): Promise<Outcome[]> {
  return withAll(stacks, surroundings.interruption, (display) =>
    inParallel(stacks, atATime(options), (stack) => previewStack(stack, { ...surroundings, display })),
  );
}

function deployAll(
  stacks: readonly FleetStack[],
  previews: readonly Outcome[],
  options: FleetOptions,
  surroundings: Omit<Surroundings, "display">,
): Promise<Outcome[]> {
  const of = (stack: FleetStack) => previews.find((preview) => preview.stack === stack.name);
  return withAll(stacks, surroundings.interruption, (display) =>
    inParallel(stacks, atATime(options), async (stack) => {
      const preview = of(stack);
      if (preview === undefined) throw new Error(`${stack.name} was not previewed`);
      return deployStack(stack, preview, { ...surroundings, display });
    }),
  );
}

function tell(outcomes: readonly Outcome[], logFolder: string, { json }: FleetOptions): ExitCode {
  process.stdout.write(
    `${json === true ? JSON.stringify({ stacks: outcomes }, null, 2) : summary(outcomes, logFolder)}\n`,
  );
  return exitCodeOf(outcomes);
}

/** `./stack fleet preview [STACK…]`: what an `up` would change, on every stack; no host is dialled. */
export async function fleetPreview(named: readonly string[], options: FleetOptions): Promise<ExitCode> {
  atATime(options);
  const stacks = announced(chooseFleet(named, "preview"));
  const logFolder = makeLogFolder("preview", new Date());
  const interruption = new Interruption();
  try {
    return tell(await previewAll(stacks, options, { interruption, logFolder }), logFolder, options);
  } finally {
    interruption.forget();
  }
}

/** One question for all stacks; anything but yes is no. */
async function agreed(previews: readonly Outcome[]): Promise<boolean> {
  const changes = previews.reduce((sum, preview) => sum + changed(preview.changes), 0);
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const what = `${counted(changes, "change")} on ${counted(previews.length, "stack")}`;
    // Ctrl-C at the question is a no.
    const answer = await questions.question(`Deploy ${what}? Write yes to go on: `).catch(() => "\n");
    return answer.trim() === "yes";
  } finally {
    questions.close();
  }
}

/**
 * `./stack fleet up [STACK…]`: previews every stack, asks once, and deploys those whose preview went through. What fails on
 * one stack does not stop the others.
 */
export async function fleetUp(named: readonly string[], options: FleetUpOptions): Promise<ExitCode> {
  atATime(options);
  const stacks = announced(chooseFleet(named, "up"));
  if (options.yes !== true && !process.stdin.isTTY)
    throw new UsageError("nobody can be asked here: write --yes; nothing was run on any stack");
  const logFolder = makeLogFolder("up", new Date());
  const interruption = new Interruption();
  try {
    const previews = await previewAll(stacks, options, { interruption, logFolder });
    const fine = previews.filter(({ result }) => result === "would change" || result === "no change");
    if (interruption.raised || fine.length === 0) {
      say("nothing was deployed");
      return tell(previews, logFolder, options);
    }
    say(summary(previews, logFolder));
    if (options.yes !== true) {
      // Nothing runs now that could be interrupted.
      interruption.forget();
      if (!(await agreed(fine))) {
        say("nothing was deployed");
        return EXIT.problems;
      }
      interruption.watch();
    }
    const ready = stacks.filter(({ name }) => fine.some(({ stack }) => stack === name));
    const deployed = await deployAll(ready, previews, options, { interruption, logFolder });
    const all = previews.map((preview) => deployed.find(({ stack }) => stack === preview.stack) ?? preview);
    return tell(all, logFolder, options);
  } finally {
    interruption.forget();
  }
}
