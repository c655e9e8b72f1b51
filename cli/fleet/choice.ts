/** Which stacks a fleet is, and what of their files refuses the whole run before anything happens anywhere. */
import { formatProblems, type Problem } from "../../config/problems";
import { NAMESPACE, type StackConfig } from "../../config/schema";
import { groupProblems } from "../../plan/fleet-rules";
import type { StackPlan } from "../../plan/stack";
import { EXIT, UsageError, VerbError } from "../exit-codes";
import { assess } from "../findings";
import { chosenStacks, type NamedStack } from "../status/stacks";
import { clashes } from "./clashes";

export type Purpose = "preview" | "up" | "drift";

export interface FleetStack extends NamedStack {
  /** Name of its file, for messages. */
  readonly source: string;
  readonly config: StackConfig;
  readonly plan: StackPlan;
}

export interface Fleet {
  readonly stacks: readonly FleetStack[];
  /** Stacks of the project that nobody named and that are not taken, with the reason. */
  readonly leftOut: readonly string[];
}

/** The embedded lab is nobody's fleet: it is taken when it is named. */
const LAB = "lab";

/** What SSH needs to know of a host. */
const NEEDED_TO_DIAL = ["host.address", "host.hostKey"].map((path) => `${NAMESPACE}:${path}`);

/** Problems of a stack file that stand in the way of a run. */
function obstacles(problems: readonly Problem[], purpose: Purpose): Problem[] {
  return problems.filter(({ severity, blocksUp, path }) => {
    if (severity === "error") return true;
    if (purpose === "preview" || blocksUp !== true) return false;
    return purpose === "up" || NEEDED_TO_DIAL.includes(path);
  });
}

/** Two files of one stack would be one stack in the backend. */
function refuseOneNameTwice(stacks: readonly NamedStack[]): void {
  for (const { name, file } of stacks) {
    const other = stacks.find((stack) => stack.name === name && stack.file !== file);
    if (other !== undefined)
      throw new UsageError(`${file} and ${other.file} are both files of the stack ${name}: name one of them`);
  }
}

/**
 * The named stacks; without a name every stack of the project that is in service.
 *
 * @throws VerbError with everything that is wrong with any of them
 */
export function chooseFleet(named: readonly string[], purpose: Purpose): Fleet {
  const chosen = chosenStacks(named);
  const taken = chosen.stacks.filter(({ name }) => named.length > 0 || name !== LAB);
  if (taken.length === 0) throw new UsageError("no stack is in service: name one");
  refuseOneNameTwice(taken);
  const assessed = taken.map((stack) => ({ ...stack, ...assess(stack.file) }));
  const refusals = assessed.flatMap(({ source, problems }) => {
    const found = obstacles(problems, purpose);
    return found.length === 0 ? [] : [formatProblems(source, found)];
  });
  const stacks = assessed.flatMap((stack) =>
    stack.config === undefined || stack.plan === undefined
      ? []
      : [{ ...stack, config: stack.config, plan: stack.plan }],
  );
  if (purpose === "up") {
    refusals.push(...clashes(stacks));
    // Parts of one server that do not fit would wait for each other in vain.
    const groups = groupProblems(stacks).filter(({ severity }) => severity === "error");
    if (groups.length > 0) refusals.push(formatProblems("the fleet", groups));
  }
  if (refusals.length > 0)
    throw new VerbError(`nothing was run on any stack\n\n${refusals.join("\n\n")}`, EXIT.problems);
  return { stacks, leftOut: chosen.leftOut };
}
