/**
 * What an `up` that met the fault says. `{host}` stands for the host's address. Where no way on is given, the words are those of
 * Pulumi's providers, which name none.
 */
export interface Said {
  readonly machine: string;
  /** None where the engine itself refuses. */
  readonly step?: string;
  /** Several: one of them. */
  readonly cause: string | readonly string[];
  readonly next?: string;
}

/** What becomes of what was serving, before anybody does anything. */
export type Keeps =
  | "the same process goes on"
  | "the old version answers again by itself"
  | "it answers again by itself"
  | `not before the next up: ${string}`;

export const causes = ({ cause }: Said): readonly string[] => (typeof cause === "string" ? [cause] : cause);

interface NamedCase {
  readonly fault: string;
  /** "nothing" where the `up` gets by. */
  readonly says: Said | "nothing: the up goes through";
  readonly keeps: Keeps;
}

/** The test's name carries what the report shows: test/reliability/report.ts takes it apart again. */
export function caseName({ fault, says, keeps }: NamedCase): string {
  const said =
    typeof says === "string"
      ? says
      : `${says.machine}${says.step === undefined ? "" : `, ${says.step}`}: ${causes(says).join(" / ")}${says.next === undefined ? "" : ` → ${says.next}`}`;
  return [fault, said, keeps].join(" | ");
}
