/** From what zod reports to problems in the owner's words. */
import type { z } from "zod";
import { pathOf, setCommand, shown, type Problem } from "./problems";
import { NAMESPACE, SECRETS, stackSchema } from "./schema";
import { exampleAt, keysAt } from "./schema-walk";
import { listed, nearest } from "./suggest";
import { visible } from "./visible";

type Issue = z.core.$ZodIssue;

/** Text of a plain value as the owner wrote it, where the source is at hand. */
export type Written = (path: readonly PropertyKey[]) => string | undefined;

const TYPE_NAMES: Record<string, string> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a mapping of keys",
  record: "a mapping of names",
  array: "a list",
};

/** What an issue allows, to complete "must be …". */
export function allowedBy(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return TYPE_NAMES[issue.expected] ?? issue.expected;
    case "invalid_value":
      return listed(issue.values.map(String));
    case "too_small":
      if (issue.origin === "number" || issue.origin === "int") {
        return `a number ${issue.inclusive === false ? "above" : "of at least"} ${issue.minimum}`;
      }
      return issue.message;
    case "too_big":
      if (issue.origin === "number" || issue.origin === "int") {
        return `a number ${issue.inclusive === false ? "below" : "of at most"} ${issue.maximum}`;
      }
      return issue.message;
    default:
      return issue.message;
  }
}

/** The value at a path of a structure. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let current = root;
  for (const segment of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[segment];
  }
  return current;
}

function unknownKeys(issue: z.core.$ZodIssueUnrecognizedKeys, path: readonly PropertyKey[]): Problem[] {
  const known = keysAt(stackSchema, path);
  return issue.keys.map((key) => {
    const suggestion = nearest(key, known);
    const secret = nearest(key, Object.keys(SECRETS));
    const fix =
      suggestion !== undefined
        ? `did you mean ${suggestion}? Otherwise take the key out`
        : secret !== undefined
          ? `secrets are keys of their own: pulumi config set --secret ${NAMESPACE}:${secret}`
          : "take the key out";
    return {
      id: "unknown-key",
      severity: "error",
      path: pathOf(NAMESPACE, [...path, key]),
      message: `no such key; allowed here: ${listed(known)}`,
      fix,
    };
  });
}

/** The field `value` of a problem, where the value may be shown. */
function valued(value: unknown): { value?: string } {
  const text = shown(value);
  return text === undefined ? {} : { value: text };
}

function wrongName(issue: z.core.$ZodIssueInvalidKey, path: readonly PropertyKey[]): Problem {
  return {
    id: "wrong-name",
    severity: "error",
    path: pathOf(NAMESPACE, path),
    ...valued(String(path.at(-1))),
    message: `must be ${issue.issues.map((inner) => inner.message).join("; ")}`,
    fix: "rename the entry",
  };
}

function isMissing(issue: Issue, value: unknown): boolean {
  return value === undefined && (issue.code === "invalid_type" || issue.code === "invalid_value");
}

function wrongValue(issue: Issue, path: readonly PropertyKey[], value: unknown, written: Written): Problem {
  const where = pathOf(NAMESPACE, path);
  const example = exampleAt(stackSchema, path);
  if (isMissing(issue, value)) {
    const whole = path.length === 1;
    return {
      id: "missing-key",
      severity: "error",
      path: where,
      message: whole ? "is missing; every stack needs it" : `is missing; it must be ${allowedBy(issue)}`,
      fix: whole ? "add it; Pulumi.example.yaml shows every field" : setCommand(where, example),
    };
  }
  const source = written(path);
  if (issue.code === "invalid_type" && issue.expected === "string" && typeof value !== "object") {
    // YAML has read 0666, 12.10 or 3.10 as a number, or a bare yes/no as a truth value.
    const text = visible(source ?? String(value));
    return {
      id: "unquoted-value",
      severity: "error",
      path: where,
      value: text,
      message: `must be a text, but YAML reads it as ${typeof value === "boolean" ? "true or false" : `the number ${String(value)}`}`,
      fix:
        source === undefined ? "quote it in the stack file" : `quote it: ${String(path.at(-1))}: "${text}"`,
    };
  }
  return {
    id: "wrong-value",
    severity: "error",
    path: where,
    ...valued(value),
    message: `must be ${allowedBy(issue)}`,
    fix: setCommand(where, example),
  };
}

/**
 * The problems behind zod's issues.
 *
 * @param issues what zod found
 * @param prefix path from the top-level key to the value that was parsed
 * @param input the value that was parsed
 * @param written text of the source, for values that YAML changed in reading
 */
export function problemsOf(
  issues: readonly Issue[],
  prefix: readonly PropertyKey[],
  input: unknown,
  written: Written = () => undefined,
): Problem[] {
  const problems = issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === "unrecognized_keys") return unknownKeys(issue, path);
    if (issue.code === "invalid_key") return [wrongName(issue, path)];
    return [wrongValue(issue, path, valueAt(input, issue.path), written)];
  });
  // A misspelt required key is one mistake, not two.
  const suggested = new Set(
    problems.flatMap((problem) => {
      const name = /^did you mean (\w+)\?/.exec(problem.fix)?.[1];
      return name === undefined ? [] : [problem.path.replace(/[^.:]+$/, name)];
    }),
  );
  return problems.filter((problem) => problem.id !== "missing-key" || !suggested.has(problem.path));
}
