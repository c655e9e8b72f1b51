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

/** What ends a verb: its message goes to standard error. Any other error ends it with `EXIT.problems`. */
export class VerbError extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode,
  ) {
    super(message);
  }
}

/** A wrong command line. */
export class UsageError extends VerbError {
  constructor(message: string) {
    super(message, EXIT.usage);
  }
}
