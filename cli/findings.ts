import type { Finding } from "../catalog/types";
import { inspectStackFile, PROJECT_DIRECTORY, type Inspection } from "../config/load";
import { ConfigurationError, type Problem } from "../config/problems";
import { NAMESPACE } from "../config/schema";
import { planStack, type StackPlan } from "../plan/stack";

export interface Assessment extends Inspection {
  /** Undefined when the configuration has an error. */
  readonly plan: StackPlan | undefined;
}

/** Where configuration problems are explained. */
const REFERENCE = "docs/reference/configuration.md";

function problemOf(finding: Finding): Problem {
  const { id, severity, path, message, fix, evidence } = finding;
  return {
    id,
    severity,
    path: path.startsWith(NAMESPACE) ? path : `${NAMESPACE}:${path}`,
    message,
    fix,
    evidence,
  };
}

const ORDER = { error: 0, warning: 1, info: 2 } as const;

/** All that can be said about a stack without a machine: problems of its configuration and rules that fire. */
export function assess(file: string): Assessment {
  const inspection = inspectOrExplain(file);
  const { config } = inspection;
  if (config === undefined) return { ...inspection, plan: undefined };
  const plan = planStack(config, PROJECT_DIRECTORY);
  const problems = [...inspection.problems, ...plan.findings.map(problemOf)].sort(
    (a, b) => ORDER[a.severity] - ORDER[b.severity],
  );
  return { ...inspection, problems, plan };
}

/** A file that is no stack file is a problem like others. */
function inspectOrExplain(file: string): Inspection {
  try {
    return inspectStackFile(file);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { source: error.source, config: undefined, problems: error.problems };
  }
}

/** A problem as `--json` prints it: every field is there, evidence included. */
export function jsonOf(problem: Problem): object {
  const { id, severity, path, value, message, fix, evidence, blocksUp } = problem;
  return {
    id,
    severity,
    path,
    ...(value === undefined ? {} : { value }),
    message,
    fix,
    evidence: evidence ?? REFERENCE,
    blocksUp: blocksUp ?? severity === "error",
  };
}
