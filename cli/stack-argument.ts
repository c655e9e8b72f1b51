import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../config/load";
import { listed, nearest } from "../config/suggest";
import { visible } from "../config/visible";
import { UsageError } from "./exit-codes";
import { stackNameOf } from "./stack-secrets";

/** What Pulumi takes as a stack's name, but for one that a command line would take for an option. */
const STACK_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;

/**
 * Refuses what can be no stack's name: it becomes a part of comments, labels and command lines.
 *
 * @throws UsageError
 */
export function requireStackName(name: string): string {
  if (STACK_NAME.test(name)) return name;
  throw new UsageError(
    `"${visible(name)}" is no stack's name: letters, digits, _ . and -, at most 100, and no . or - in front`,
  );
}

/** Names of the project's stacks. */
export function stackNames(directory = PROJECT_DIRECTORY): string[] {
  return readdirSync(directory).flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? []);
}

/**
 * The stack file that STACK means: a stack's name, or the path of a stack file.
 *
 * @throws UsageError when there is no such file
 */
export function stackFileOf(stack: string, directory = PROJECT_DIRECTORY): string {
  const named = path.join(directory, `Pulumi.${stack}.yaml`);
  if (!stack.includes("/") && existsSync(named)) return named;
  if (existsSync(stack) && statSync(stack).isFile()) {
    requireStackName(stackNameOf(stack));
    return path.resolve(stack);
  }
  const names = stackNames(directory);
  const suggestion = nearest(stack, names);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  throw new UsageError(
    `there is no stack "${visible(stack)}": write the path of a stack file, or one of ${listed(names)}${hint}`,
  );
}
