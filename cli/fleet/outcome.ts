/** How each stack of a fleet came out. */
import { EXIT, type ExitCode } from "../exit-codes";
import type { Failure } from "./failure";
import type { Changes } from "./progress";

export type Result =
  /** A preview: nothing would change. */
  | "no change"
  /** A preview: something would change. */
  | "would change"
  /** An `up` that went through. */
  | "done"
  | "failed"
  /** Its host takes no connection. */
  | "unreachable"
  /** Ended by Ctrl-C while it ran. */
  | "cancelled"
  /** Ctrl-C came before. */
  | "not started";

export interface Outcome {
  readonly stack: string;
  /** Name of the node. */
  readonly host: string;
  readonly result: Result;
  /** What would change; after an `up`, what was changed, also by one that failed. */
  readonly changes: Changes;
  readonly seconds: number;
  /** File with all that Pulumi printed; null: it was not run. */
  readonly log: string | null;
  readonly failures: readonly Failure[];
}

export const NOTHING: Changes = { create: 0, update: 0, replace: 0, delete: 0, same: 0 };

/** How many resources change. */
export const changed = ({ create, update, replace, delete: deleted }: Changes): number =>
  create + update + replace + deleted;

const OF_RESULT: Readonly<Record<Result, ExitCode>> = {
  "no change": EXIT.fine,
  "would change": EXIT.differs,
  done: EXIT.fine,
  failed: EXIT.problems,
  unreachable: EXIT.unreachable,
  cancelled: EXIT.problems,
  "not started": EXIT.problems,
};

/** The first of these that any stack has: a failure is never hidden behind something that was to be expected. */
const WEIGHT: readonly ExitCode[] = [EXIT.problems, EXIT.differs, EXIT.unreachable];

export function worstOf(codes: readonly ExitCode[], weight = WEIGHT): ExitCode {
  return weight.find((code) => codes.includes(code)) ?? EXIT.fine;
}

/** 1 when a stack failed, else 2 when a preview shows a change, else 4 when a host could not be reached, else 0. */
export function exitCodeOf(outcomes: readonly Outcome[]): ExitCode {
  return worstOf(outcomes.map(({ result }) => OF_RESULT[result]));
}
