/** What went wrong on a stack, in words that name machine, step, cause and way on. */
import type { Complaint } from "./progress";

export interface Failure {
  readonly message: string;
  /** What to do about it; empty: the message says it. */
  readonly fix: string;
}

const LONGEST = 1200;

/** The report of a step that failed (scripts/lib/step.sh), among all that the machine printed. */
const STEP =
  /error: (step \S+ on .+ failed)\n {2}cause: (.*(?:\n(?! {2}next:) {4,}.*)*)(?:\n {2}next: {2}(.*))?/;

/** Errors of Pulumi itself that have one way on. */
const KNOWN: readonly (readonly [RegExp, (stack: string) => string])[] = [
  [
    /no stack named/,
    (stack) => `pulumi stack init ${stack}, or log in to the backend that has it: pulumi login`,
  ],
  [
    /currently locked/,
    (stack) => `somebody else changes it: wait; if nobody does, pulumi cancel --stack ${stack}`,
  ],
  [
    /incorrect passphrase|passphrase must be set/,
    () => "set PULUMI_CONFIG_PASSPHRASE (or …_FILE) for all stacks",
  ],
];

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function failureOf(stack: string, { resource, message }: Complaint): Failure {
  const step = STEP.exec(message);
  if (step !== null)
    return { message: `${step[1] ?? ""}: ${(step[2] ?? "").trim()}`, fix: step[3]?.trim() ?? "" };
  const fix = KNOWN.find(([pattern]) => pattern.test(message))?.[1](stack) ?? "";
  const text = shortened(message.replace(/^error: /, "").trim());
  return { message: resource === "" ? text : `${resource}: ${text}`, fix };
}

/**
 * @param printed all that Pulumi printed on standard error: what there is when it ends before its engine starts
 */
export function failuresOf(stack: string, complaints: readonly Complaint[], printed: string): Failure[] {
  const told =
    complaints.length > 0 ? complaints : [{ resource: "", message: printed.trim() || "no message" }];
  return told.map((complaint) => failureOf(stack, complaint));
}
