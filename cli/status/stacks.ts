import { existsSync } from "node:fs";
import path from "node:path";
import { inspectStackFile, PROJECT_DIRECTORY } from "../../config/load";
import { ConfigurationError } from "../../config/problems";
import { stackFileOf, stackNames } from "../stack-argument";
import { stackNameOf } from "../stack-secrets";

export interface NamedStack {
  readonly name: string;
  /** Path of its file. */
  readonly file: string;
}

export interface ChosenStacks {
  readonly stacks: readonly NamedStack[];
  /** Stacks of the project that are not asked, with the reason. */
  readonly leftOut: readonly string[];
}

/** The stack that shows what can be written; its host is nobody's. */
const EXAMPLE = "example";

/** Why a stack that nobody named is not asked; undefined: it is. One with errors is, so that they are told. */
function reasonToLeaveOut(file: string): string | undefined {
  try {
    const { config } = inspectStackFile(file);
    if (config?.retired !== undefined) return `retired on ${config.retired}`;
    if (config?.host.address === "unknown") return "the address of its host is not recorded";
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
  }
  return undefined;
}

/**
 * The named stacks, each once; without a name every stack of the project that is in service.
 *
 * @throws UsageError when there is no such stack
 */
export function chosenStacks(named: readonly string[], directory = PROJECT_DIRECTORY): ChosenStacks {
  if (named.length > 0) {
    const files = new Set(named.map((stack) => stackFileOf(stack, directory)));
    return { stacks: [...files].map((file) => ({ name: stackNameOf(file), file })), leftOut: [] };
  }
  const stacks: NamedStack[] = [];
  const leftOut: string[] = [];
  for (const name of stackNames(directory).sort()) {
    const file = path.join(directory, `Pulumi.${name}.yaml`);
    if (name === EXAMPLE || !existsSync(file)) continue;
    const reason = reasonToLeaveOut(file);
    if (reason === undefined) stacks.push({ name, file });
    else leftOut.push(`${name}: ${reason}`);
  }
  return { stacks, leftOut };
}
