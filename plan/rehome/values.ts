/** Reading of stack files as they are written, before any default. */
import type { Inspection } from "../../config/load";
import { NAMESPACE, type StackConfig } from "../../config/schema";
import type { StackPlan } from "../stack";

/** A mapping of a stack file. */
export type Values = Readonly<Record<string, unknown>>;

/** A stack that passed its checks, with the text that it came from. */
export interface Stack {
  /** Name of the stack. */
  readonly name: string;
  /** The whole stack file. */
  readonly text: string;
  /** Values under `config:` by their full key, as written. */
  readonly raw: Values;
  readonly config: StackConfig;
  readonly plan: StackPlan;
  readonly problems: Inspection["problems"];
}

function isMapping(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Entries of a top-level key, such as all services, as written. */
export function entriesOf(raw: Values, key: string): Readonly<Record<string, Values>> {
  const entries = raw[`${NAMESPACE}:${key}`];
  if (!isMapping(entries)) return {};
  return Object.fromEntries(
    Object.entries(entries).filter((entry): entry is [string, Values] => isMapping(entry[1])),
  );
}

/** A mapping within a mapping; empty when it is not there. */
export function mappingOf(values: Values, key: string): Values {
  const value = values[key];
  return isMapping(value) ? value : {};
}

/** A mapping without some of its keys. */
export function without(values: Values, ...keys: string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !keys.includes(key)));
}

/** `name`, or the first of `name-2`, `name-3`, … that is not taken. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let number = 2; ; number++) {
    const candidate = `${name}-${number}`;
    if (!taken.includes(candidate)) return candidate;
  }
}
