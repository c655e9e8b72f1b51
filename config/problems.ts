/** What is wrong with a stack, as data, and as one readable error. */
import { secretIn } from "./secret-forms";
import { visible, visibleLines } from "./visible";

export type Severity = "error" | "warning" | "info";

export interface Problem {
  /** Stable name: a word such as `unknown-key`, or the id of a rule. */
  readonly id: string;
  readonly severity: Severity;
  /** Key and path as `pulumi config set --path` takes them; empty for the file as a whole. */
  readonly path: string;
  /** The value as `shown` gives it; left out for secrets and for whole structures. */
  readonly value?: string;
  /** What is wrong and what is allowed. */
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
  /** Where the fact comes from. */
  readonly evidence?: string;
  /** A preview is possible, but `up` is refused until it is solved. */
  readonly blocksUp?: boolean;
}

/** A plain value as messages show it: short, in one line; undefined for a structure and for what looks like a secret. */
export function shown(value: unknown): string | undefined {
  if (value === undefined || (typeof value === "object" && value !== null)) return undefined;
  if (typeof value !== "string") return String(value);
  return secretIn(value) === undefined ? `"${visible(value)}"` : undefined;
}

/** One problem as text: place and value, what is allowed, the fix. */
export function formatProblem(problem: Problem): string {
  const place = [problem.path, problem.value === undefined ? "" : `is ${problem.value}`];
  const head = place.filter((part) => part !== "").join(" ");
  const message = visibleLines(problem.message);
  const lines = [head === "" ? message : `${head}: ${message}`, `  fix: ${visibleLines(problem.fix)}`];
  if (problem.evidence !== undefined) lines.push(`  evidence: ${problem.evidence}`);
  return lines.join("\n");
}

/** All problems of one source under a heading that names it. */
export function formatProblems(source: string, problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const blocks = problems.map((problem) => {
    const mark = problem.severity === "error" ? "✖" : problem.severity === "warning" ? "⚠" : "ℹ";
    return `${mark} ${problem.id}: ${formatProblem(problem)}`.replace(/^/gm, "  ");
  });
  return [`${source}: ${count}`, "", blocks.join("\n\n")].join("\n");
}

/** A stack that is refused. The message holds every problem at once. */
export class ConfigurationError extends Error {
  constructor(
    readonly source: string,
    readonly problems: readonly Problem[],
  ) {
    super(formatProblems(source, problems));
    this.name = "ConfigurationError";
  }
}

/** Path of a value in Pulumi's notation: `proxmox-gpu-stack:containers.ml.gpus[0]`. */
export function pathOf(namespace: string, segments: readonly PropertyKey[]): string {
  const [key, ...rest] = segments;
  if (key === undefined) return "";
  const tail = rest.map((segment) => {
    if (typeof segment === "number") return `[${segment}]`;
    const name = visible(String(segment));
    return /^[\w-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return `${namespace}:${visible(String(key))}${tail.join("")}`;
}

/** A text as one word of a shell, for commands that messages tell to run. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The command that sets a value; VALUE stands where no example is known. */
export function setCommand(path: string, value = "VALUE"): string {
  const word = /^[A-Za-z0-9_./:@=-]+$/.test(value) ? value : quoted(value);
  return `pulumi config set --path ${quoted(path)} ${word}`;
}
