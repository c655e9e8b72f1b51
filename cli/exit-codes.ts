/** Exit codes of every verb. */
export const EXIT = {
  fine: 0,
  /** Problems were found, or something was refused. */
  problems: 1,
  /** What is there differs from what is declared. */
  differs: 2,
  /** The command line is wrong. */
  usage: 3,
  /** A machine could not be reached. */
  unreachable: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A wrong command line: its message goes to standard error, the exit code is `EXIT.usage`. */
export class UsageError extends Error {}
