/** `./stack fleet drift`: the look of `./stack drift` at several stacks at once. */
import { driftLook, driftExitCode } from "./drift/stack-look";
import type { DriftReport } from "./drift/report";
import { EXIT, type ExitCode } from "./exit-codes";
import { chooseFleet, type FleetStack } from "./fleet/choice";
import { Display } from "./fleet/display";
import { driftSummary } from "./fleet/drift-text";
import { Interruption } from "./fleet/interruption";
import { announced, atATime, type FleetOptions } from "./fleet/options";
import { worstOf } from "./fleet/outcome";
import { inParallel } from "./fleet/pool";
import { counted } from "./review/markdown";
import { SshError } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { SecretError } from "./stack-secrets";

export interface DriftOutcome extends DriftReport {
  readonly stack: string;
  /** Name of the node. */
  readonly host: string;
  readonly result: "as declared" | "drift" | "partly checked" | "failed" | "unreachable" | "cancelled";
  readonly seconds: number;
  /** Why it could not be looked at; null: it could. */
  readonly error: string | null;
}

const RESULT_OF = { [EXIT.fine]: "as declared", [EXIT.differs]: "drift" } as const;

const CODE_OF: Readonly<Record<DriftOutcome["result"], ExitCode>> = {
  "as declared": EXIT.fine,
  drift: EXIT.differs,
  "partly checked": EXIT.unreachable,
  failed: EXIT.problems,
  unreachable: EXIT.unreachable,
  cancelled: EXIT.problems,
};

/** Drift is certain, whatever could not be looked at elsewhere: as with one stack. */
const WEIGHT: readonly ExitCode[] = [EXIT.differs, EXIT.problems, EXIT.unreachable];

export function driftFleetExitCode(outcomes: readonly Pick<DriftOutcome, "result">[]): ExitCode {
  return worstOf(
    outcomes.map(({ result }) => CODE_OF[result]),
    WEIGHT,
  );
}

/** Looks at one stack; what goes wrong must not stop the others. */
async function look(
  { name, file, config, plan }: FleetStack,
  interruption: Interruption,
): Promise<DriftOutcome> {
  const begun = Date.now();
  const outcome = (
    result: DriftOutcome["result"],
    error: string | null,
    report: DriftReport = { checked: 0, rows: [], unchecked: [] },
  ): DriftOutcome => {
    const seconds = (Date.now() - begun) / 1000;
    return { stack: name, host: config.host.node, result, seconds, ...report, error };
  };
  if (interruption.raised) return outcome("cancelled", "^C came before it");
  const controller = new AbortController();
  const forget = interruption.listen(() => controller.abort());
  try {
    const target = stackTarget(config, file);
    const { report } = await driftLook(file, target, config, plan, { signal: controller.signal })();
    const code = driftExitCode(report);
    return outcome(
      code === EXIT.fine || code === EXIT.differs ? RESULT_OF[code] : "partly checked",
      null,
      report,
    );
  } catch (error) {
    if (interruption.raised) return outcome("cancelled", "ended by ^C");
    if (error instanceof SshError)
      return outcome(error.exitCode === EXIT.unreachable ? "unreachable" : "failed", error.message);
    if (error instanceof SecretError) return outcome("failed", error.message);
    throw error;
  } finally {
    forget();
  }
}

function inWords({ result, rows, checked, seconds }: DriftOutcome): string {
  const what = result === "drift" ? counted(rows.length, "difference") : result;
  return `${what}, ${checked} steps checked in ${seconds.toFixed(1)} s`;
}

/** `./stack fleet drift [STACK…]`: what is not as declared on the stacks' hosts; nothing changes there. */
export async function fleetDrift(named: readonly string[], options: FleetOptions): Promise<ExitCode> {
  const parallel = atATime(options);
  const stacks = announced(chooseFleet(named, "drift"));
  const display = new Display(stacks.map(({ name }) => name));
  const interruption = new Interruption();
  try {
    const outcomes = await inParallel(stacks, parallel, async (stack) => {
      display.begin(stack.name, `looking at ${stack.config.host.node}`);
      const outcome = await look(stack, interruption);
      display.end(stack.name, inWords(outcome));
      return outcome;
    }).finally(() => display.close());
    process.stdout.write(
      `${options.json === true ? JSON.stringify({ stacks: outcomes }, null, 2) : driftSummary(outcomes)}\n`,
    );
    return driftFleetExitCode(outcomes);
  } finally {
    interruption.forget();
  }
}
