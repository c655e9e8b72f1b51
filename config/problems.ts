/** What is wrong with a stack, as data, and as one readable error. */

export type Severity = "error" | "warning" | "info";

export interface Problem {
  /** Stable name: a word such as `unknown-key`, or the id of a rule. */
  readonly id: string;
  readonly severity: Severity;
  /** Key and path as `pulumi config set --path` takes them; empty for the file as a whole. */
  readonly path: string;
  /** The value as it was written; left out for secrets and for whole structures. */
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

const MAXIMUM_VALUE_LENGTH = 80;

function shortened(value: string): string {
  return value.length > MAXIMUM_VALUE_LENGTH ? `${value.slice(0, MAXIMUM_VALUE_LENGTH)}…` : value;
}

/** One problem as text: place and value, what is allowed, the fix. */
export function formatProblem(problem: Problem): string {
  const place = [problem.path, problem.value === undefined ? "" : `is ${shortened(problem.value)}`];
  const head = place.filter((part) => part !== "").join(" ");
  const lines = [head === "" ? problem.message : `${head}: ${problem.message}`, `  fix: ${problem.fix}`];
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
  const tail = rest.map((segment) => (typeof segment === "number" ? `[${segment}]` : `.${String(segment)}`));
  return `${namespace}:${String(key)}${tail.join("")}`;
}

/** The command that sets a value; VALUE stands where no example is known. */
export function setCommand(path: string, value = "VALUE"): string {
  const quoted = /^[A-Za-z0-9_./:@=-]+$/.test(value) ? value : `'${value}'`;
  return `pulumi config set --path '${path}' ${quoted}`;
}
