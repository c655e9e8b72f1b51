/** From raw values to typed ones, entry by entry, so that one mistake does not hide the next. */
import { z } from "zod";
import { problemsOf, type Written } from "./issues";
import { pathOf, type Problem } from "./problems";
import { NAMESPACE, stackSchema, type StackValues } from "./schema";
import { schemaAt } from "./schema-walk";

/** What is left of a structure when wrong values are taken out: anything may be missing. */
export type Partially<T> = T extends readonly (infer E)[]
  ? Partially<E>[]
  : T extends object
    ? { [K in keyof T]?: Partially<T[K]> }
    : T;

export interface Parsed {
  readonly problems: Problem[];
  /** Every value that is right on its own; complete when there are no problems. */
  readonly view: Partially<StackValues>;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy without the values that the issues are about. */
function pruned(input: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(input);
  for (const issue of issues) {
    const parents = issue.code === "unrecognized_keys" ? issue.path : issue.path.slice(0, -1);
    const keys = issue.code === "unrecognized_keys" ? issue.keys : issue.path.slice(-1);
    let parent = copy as Record<PropertyKey, unknown> | undefined;
    for (const segment of parents) parent = parent?.[segment] as Record<PropertyKey, unknown> | undefined;
    if (typeof parent !== "object" || parent === null) continue;
    for (const key of keys) delete parent[key];
  }
  return dense(copy);
}

/** Closes the holes that taking out list elements left. */
function dense(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((element) => element !== undefined).map(dense);
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, dense(inner)]));
}

function parseOne(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  input: unknown,
  written: Written,
): { value: unknown; problems: Problem[] } {
  const result = schema.safeParse(input);
  if (result.success) return { value: result.data, problems: [] };
  const { issues } = result.error;
  const wholeIsWrong = issues.some((issue) => issue.path.length === 0 && issue.code !== "unrecognized_keys");
  return {
    value: wholeIsWrong ? undefined : pruned(input, issues),
    problems: problemsOf(issues, path, input, written),
  };
}

/** In one order, whatever the file's is: Pulumi hands a program the entries sorted, and steps list them. */
function sortedEntries(map: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** `__proto__` as a key would vanish on the way through objects: where it stands, it is named. */
function vanishingKeys(value: unknown, path: readonly PropertyKey[], depth = 0): Problem[] {
  // Nothing of the language lies deeper.
  if (depth > 10 || typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "__proto__"
      ? [
          {
            id: "unknown-key",
            severity: "error" as const,
            path: pathOf(NAMESPACE, [...path, key]),
            message: "no such key",
            fix: "take the key out",
          },
        ]
      : vanishingKeys(inner, [...path, key], depth + 1),
  );
}

/** Whether a top-level key is a map of named entries, which are then parsed one by one. */
function isMapKey(key: string): boolean {
  return schemaAt(stackSchema, [key]) instanceof z.ZodRecord;
}

/**
 * Parses the structured keys of a stack.
 *
 * @param raw values by top-level key, without the namespace
 * @param written text of the source, for values that YAML changed in reading
 */
export function parseValues(raw: Readonly<Record<string, unknown>>, written: Written): Parsed {
  const view: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [key, schema] of Object.entries(stackSchema.shape)) {
    const input = raw[key];
    const parts =
      isMapKey(key) && isMapping(input)
        ? sortedEntries(input).map(([name, entry]): unknown => ({ [name]: entry }))
        : [input];
    problems.push(...vanishingKeys(input, [key]));
    const parsed = parts.map((part) => parseOne(schema, [key], part, written));
    problems.push(...parsed.flatMap((part) => part.problems));
    const values = parsed.map((part) => part.value);
    if (parts.length > 1) view[key] = Object.assign({}, ...(values as object[]));
    else view[key] = parts.length === 0 ? {} : values[0];
  }
  return { problems, view: view as Partially<StackValues> };
}
