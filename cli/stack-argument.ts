import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../config/load";
import { listed, nearest } from "../config/suggest";
import { UsageError } from "./exit-codes";

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
  if (existsSync(stack) && statSync(stack).isFile()) return path.resolve(stack);
  const names = stackNames(directory);
  const suggestion = nearest(stack, names);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  throw new UsageError(
    `there is no stack "${stack}": write the path of a stack file, or one of ${listed(names)}${hint}`,
  );
}
