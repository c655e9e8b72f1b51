import path from "node:path";
import { PROJECT_DIRECTORY } from "../config/load";
import { NAMESPACE } from "../config/schema";
import { readStackFile } from "../config/stack-file";
import { EXIT, type ExitCode } from "./exit-codes";
import { changedStacks, type ChangedStack, type StackInputs } from "./review/changed-stacks";
import { git, mergeBase } from "./review/git";
import { stackNames } from "./stack-argument";

/** The values of one field in all entries of a key, as far as they are texts: a broken stack file is `check`'s business. */
function texts(raw: Readonly<Record<string, unknown>>, key: string, field: string): string[] {
  const entries: unknown = raw[`${NAMESPACE}:${key}`];
  if (typeof entries !== "object" || entries === null) return [];
  return Object.values(entries).flatMap((entry: unknown) => {
    const value: unknown =
      typeof entry === "object" && entry !== null ? Reflect.get(entry, field) : undefined;
    return typeof value === "string" ? [value] : [];
  });
}

function inputsOf(stack: string): StackInputs {
  let raw: Readonly<Record<string, unknown>> = {};
  try {
    ({ raw } = readStackFile(path.join(PROJECT_DIRECTORY, `Pulumi.${stack}.yaml`)));
  } catch {
    // No YAML: whatever it names, the file itself is what must be looked at.
  }
  return {
    stack,
    locks: texts(raw, "environments", "lock"),
    models: texts(raw, "models", "repo"),
    checksumFiles: [...JSON.stringify(raw).matchAll(/"file:([^"]+)"/g)].flatMap(([, file]) => file ?? []),
  };
}

/** Files that differ from where this branch left BASE; uncommitted and new ones too. */
function changedFiles(base: string): string[] {
  const tracked = git("diff", "--name-only", "--no-renames", "-z", "--relative", mergeBase(base), "--", ".");
  const created = git("ls-files", "--others", "--exclude-standard", "-z");
  return `${tracked.output}${created.output}`.split("\0").filter((file) => file !== "");
}

function sentence({ stack, because }: ChangedStack): string {
  return `${stack}: ${because.join(", ")}`;
}

/** `./stack changed BASE [--json]`: the stacks that a change touches, and why. */
export function changed(base: string, options: { json?: boolean }): ExitCode {
  const stacks = changedStacks(changedFiles(base), stackNames().map(inputsOf));
  if (options.json === true) process.stdout.write(`${JSON.stringify({ stacks }, null, 2)}\n`);
  else process.stdout.write(stacks.length === 0 ? "no stack\n" : `${stacks.map(sentence).join("\n")}\n`);
  return EXIT.fine;
}
