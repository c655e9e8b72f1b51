import type { Case } from "../support";

/** For a rule: services on which it fires, and the nearest ones on which it must not. */
export interface RuleRow {
  readonly rule: string;
  readonly fires: readonly Case[];
  readonly silent: readonly Case[];
}
