import type { LabStack, Result } from "../lab/stack/lab-stack";
import { caseName, causes, type Keeps, type Said } from "./case-name";
import { useDeployedLab } from "../lab/stack/deployed-lab";
import { answersRight, expectConverged, look, plantOwnersFiles, type Sight } from "./fault-lab";
import { cancel, WatchedUp } from "./watched-up";

export interface FaultCase {
  readonly fault: string;
  /** Edits the stack, so that the component has something to do. */
  readonly change: (lab: LabStack) => unknown;
  /** What `up` prints when the fault strikes; without it the fault is there before the `up` starts. */
  readonly moment?: RegExp;
  /** A result that it returns is another `up`'s: the message is that one's, and the one that was struck goes through. */
  readonly strike: (lab: LabStack, up: WatchedUp | undefined) => unknown;
  /** The message is that of an `up` right after the one that was killed. */
  readonly again?: true;
  /** Makes the host reachable again, for the looks that follow. */
  readonly reach?: (lab: LabStack) => unknown;
  /** Takes the cause away. */
  readonly mend?: ((lab: LabStack) => unknown) | undefined;
  /** "nothing" where the `up` gets by. */
  readonly says: Said | "nothing: the up goes through";
  readonly keeps: Keeps;
  /** What a person does before the next `up`, in the words of the message, and options of that `up`. */
  readonly before?: (lab: LabStack) => unknown;
  readonly options?: readonly string[];
  /** Where the fault itself destroys the container's disk: only what lies on the host must stay. */
  readonly takesContainer?: true;
}

let lab: LabStack | undefined;
let number = 0;

/** A deployed lab that serves all cases of a file; each case leaves it whole. */
export function useFaultLab(): LabStack {
  lab ??= useDeployedLab();
  return lab;
}

/** Cases of one component; `kind` says whether they are in the report's table or in its list. */
export function faults(kind: "every step" | "single", component: string, cases: readonly FaultCase[]): void {
  describe(`${kind}: ${component}`, () => {
    it.each(cases.map((one) => [caseName(one), one] as const))("%s", async (_name, one) => {
      if (lab === undefined) throw new Error("useFaultLab comes first");
      const started = Date.now();
      await expectFault(lab, one);
      // Jest tells of a file's tests when all of them are over, which is long here.
      process.stderr.write(
        `passed in ${Math.round((Date.now() - started) / 1000)} s: ${component}, ${one.fault}\n`,
      );
    });
  });
}

async function expectFault(stack: LabStack, one: FaultCase): Promise<void> {
  stack.untilHealthy();
  number += 1;
  plantOwnersFiles(stack, `case ${number}`);
  const before = look(stack);
  let reached = false;
  let mended = false;
  const reach = async () => {
    reached = true;
    await one.reach?.(stack);
  };
  const mend = async () => {
    mended = true;
    await one.mend?.(stack);
  };
  try {
    await one.change(stack);
    const { status, output } = await upWithFault(stack, one);
    await reach();
    expectSaid(stack, one.says, status, output);
    await expectKeeps(stack, one, before);
    await mend();
    await one.before?.(stack);
    await expectConverged(stack, one.options);
    expect(look(stack).owned).toBe(one.takesContainer ? ` case ${number}` : before.owned);
  } catch (error) {
    if (!reached) await reach();
    if (!mended) await mend();
    process.stderr.write(`FAILED: ${one.fault}: ${String(error).slice(0, 2000)}\n`);
    // So that the next case has something to start from.
    cancel(stack);
    stack.pulumi("up", "--yes", "--skip-preview", "--refresh");
    throw error;
  }
}

const isResult = (value: unknown): value is Result =>
  typeof value === "object" && value !== null && "status" in value && "output" in value;

async function upWithFault(stack: LabStack, one: FaultCase) {
  if (one.moment === undefined) {
    await one.strike(stack, undefined);
    return stack.pulumi("up", "--yes", "--skip-preview");
  }
  const up = new WatchedUp(stack);
  await up.shows(one.moment);
  const other = await one.strike(stack, up);
  const status = await up.ended;
  if (isResult(other)) {
    if (status !== 0) throw new Error(`the up that was there first failed:\n${up.output}`);
    return other;
  }
  return one.again ? stack.pulumi("up", "--yes", "--skip-preview") : { status, output: up.output };
}

/** Output as one line: Pulumi breaks and indents as it likes. */
const flat = (text: string) => text.replace(/\s+/g, " ");

function expectSaid(stack: LabStack, says: FaultCase["says"], status: number | null, output: string): void {
  if (typeof says === "string") {
    if (status !== 0) throw new Error(`the up failed:\n${output}`);
    return;
  }
  if (status === 0) throw new Error(`the up went through:\n${output}`);
  const text = flat(output);
  const isSaid = (part: string) => text.includes(flat(part.replaceAll("{host}", `${stack.subnet}.5`)));
  const missing = [says.machine, says.step ?? "", says.next ?? ""].filter((part) => !isSaid(part));
  if (!causes(says).some(isSaid)) missing.push(...causes(says));
  if (missing.length > 0) throw new Error(`the up does not say ${missing.join(" and ")}:\n${output}`);
}

async function expectKeeps(stack: LabStack, { keeps }: FaultCase, before: Sight) {
  if (keeps.startsWith("not before")) return;
  stack.untilHealthy();
  await answersRight(stack);
  const now = look(stack);
  expect(now.owned).toBe(before.owned);
  if (keeps === "the same process goes on") expect(now.pid).toBe(before.pid);
  if (keeps === "the old version answers again by itself") expect(now.version).toBe(before.version);
}
