/** What `pulumi preview --json` says, reduced to what a reviewer must know. No value of a resource is taken over but step lines. */
import { z } from "zod";

const stateSchema = z.object({
  type: z.string().optional(),
  protect: z.boolean().optional(),
  inputs: z.object({ create: z.unknown() }).partial().optional(),
});

const stepSchema = z.object({
  op: z.string(),
  urn: z.string(),
  oldState: stateSchema.optional(),
  newState: stateSchema.optional(),
  diffReasons: z.array(z.string()).nullish(),
  replaceReasons: z.array(z.string()).nullish(),
  detailedDiff: z.record(z.string(), z.object({ kind: z.string() })).nullish(),
});

const previewSchema = z.object({
  steps: z.array(stepSchema).default([]),
  diagnostics: z
    .array(z.object({ urn: z.string().optional(), message: z.string(), severity: z.string() }))
    .nullish(),
});

type PulumiStep = z.output<typeof stepSchema>;

export type Operation = "create" | "update" | "replace" | "delete";

export interface Change {
  readonly operation: Operation;
  /** Name of the resource, unique in a stack for all that is not a component. */
  readonly name: string;
  /** Its type without the package, such as `Command`. */
  readonly kind: string;
  /** Whether the resource that is there now is protected. */
  readonly isProtected: boolean;
  /** What changes: arguments of a step, or properties; for a replacement only those that cause it. */
  readonly what: readonly string[];
}

export interface PreviewReport {
  readonly changes: readonly Change[];
  readonly unchanged: number;
  readonly warnings: readonly string[];
  /** What made the preview fail, but protections: those are seen in the changes. */
  readonly errors: readonly string[];
  /** The engine stopped at an error, so more may change than is listed. */
  readonly incomplete: boolean;
}

/** What Pulumi calls them; `same`, `read` and others are no changes. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  create: "create",
  update: "update",
  replace: "replace",
  "create-replacement": "replace",
  "delete-replaced": "replace",
  delete: "delete",
  "discard-replaced": "replace",
};

/** `name=value` words of a step's line; values in quotes may hold spaces. */
function argumentsOf(line: unknown): Map<string, string> {
  if (typeof line !== "string") return new Map();
  const words = line.matchAll(/(?:^|\s)(?:'([\w-]+)=((?:[^']|'\\'')*)'|([\w-]+)=(\S*))/g);
  return new Map([...words].map((word) => [word[1] ?? word[3] ?? "", word[2] ?? word[4] ?? ""]));
}

/** Names of the arguments that differ; a changed script alone shows as `script`. */
function changedArguments(step: PulumiStep): string[] {
  const before = argumentsOf(step.oldState?.inputs?.create);
  const after = argumentsOf(step.newState?.inputs?.create);
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .sort();
}

function whatChanges(step: PulumiStep, operation: Operation): string[] {
  if (operation === "replace") {
    const causes = Object.entries(step.detailedDiff ?? {}).filter(([, { kind }]) =>
      kind.endsWith("-replace"),
    );
    const names = causes.length > 0 ? causes.map(([name]) => name) : (step.replaceReasons ?? []);
    // `__meta` is the provider's own bookkeeping.
    return names.filter((name) => !name.startsWith("__")).sort();
  }
  if (operation !== "update") return [];
  const changed = changedArguments(step);
  if (changed.length > 0) return changed;
  return [...(step.diffReasons ?? [])].filter((name) => name !== "stdin").sort();
}

/** Components and the stack itself are groups; what is in them is listed. */
export function isGroup(type: string): boolean {
  return /^(proxmox-gpu-stack:|pulumi:pulumi:)/.test(type);
}

function changeOf(step: PulumiStep): Change | undefined {
  const operation = OPERATIONS[step.op];
  const type = step.newState?.type ?? step.oldState?.type ?? "";
  if (operation === undefined || isGroup(type)) return undefined;
  return {
    operation,
    name: step.urn.split("::").at(-1) ?? step.urn,
    kind: type.split(":").at(-1) ?? type,
    isProtected: step.oldState?.protect === true && (operation === "replace" || operation === "delete"),
    what: whatChanges(step, operation),
  };
}

/** Pulumi's errors that only say what the list of changes says. */
const OF_PROTECTION = /marked for protection|cannot be deleted\s+because it is protected/;
const GENERAL = /^(error: )?preview failed$/;

/**
 * Reads what `pulumi preview --json` printed.
 *
 * @throws Error when the text is no such thing
 */
export function readPreview(text: string): PreviewReport {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(
      `this is not what pulumi preview --json prints: ${text.trim().slice(0, 2000) || "it is empty"}`,
    );
  }
  const preview = previewSchema.safeParse(json);
  if (!preview.success)
    throw new Error(`this is not what pulumi preview --json prints: ${z.prettifyError(preview.error)}`);
  const { steps, diagnostics } = preview.data;
  const messages = (severity: string): string[] =>
    (diagnostics ?? [])
      .filter((entry) => entry.severity === severity)
      .map(({ message }) => message.trim().replace(/^(warning|error): /, ""));
  const errors = messages("error");
  const changes = steps.map(changeOf).filter((change) => change !== undefined);
  // A replacement can be told in several steps.
  const once = new Map(changes.map((change) => [`${change.operation} ${change.name}`, change]));
  const real = errors.filter((message) => !OF_PROTECTION.test(message) && !GENERAL.test(message));
  const explained = errors.some((message) => OF_PROTECTION.test(message)) || real.length > 0;
  return {
    changes: [...once.values()],
    unchanged: steps.filter(({ op }) => op === "same").length,
    warnings: messages("warning"),
    errors: explained ? real : errors,
    incomplete: errors.length > 0,
  };
}
