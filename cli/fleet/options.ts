/** What all verbs of a fleet take. */
import { UsageError } from "../exit-codes";
import { say } from "../say";
import type { Fleet, FleetStack } from "./choice";

export interface FleetOptions {
  readonly json?: boolean;
  /** How many stacks at a time. */
  readonly parallel?: string;
}

/** Each is an engine, the program and its plugins. */
const AT_A_TIME = 4;

/** @throws UsageError when it is no number */
export function atATime({ parallel }: FleetOptions): number {
  if (parallel === undefined) return AT_A_TIME;
  if (/^\d{1,2}$/.test(parallel) && Number(parallel) >= 1) return Number(parallel);
  throw new UsageError(`--parallel ${parallel}: write a whole number from 1 to 99`);
}

/** The stacks, with a word about those that are left out. */
export function announced({ stacks, leftOut }: Fleet): readonly FleetStack[] {
  for (const line of leftOut) say(`left out: ${line}`);
  return stacks;
}
