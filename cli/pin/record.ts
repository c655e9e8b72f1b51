/** Writes what `pin` found into environments/<name>/: a lock with its files, or why there is none. */
import { rmSync } from "node:fs";
import path from "node:path";
import type { EnvironmentFolder, WheelhouseFile } from "../../config/environment-folder";
import { writeAside } from "./tools";

/** Text of a list of files, in a fixed order. */
export function wheelhouseText(files: readonly object[]): string {
  return `${JSON.stringify({ files }, null, 2)}\n`;
}

/** Text of a lock. `tried` says how far it was tried. */
export function lockText(digest: string, tried: string, requirements: string): string {
  const header = [
    "# Made by ./stack pin from pyproject.toml beside it; do not edit.",
    `# inputs: sha256:${digest}`,
    `# import test: ${tried}`,
  ];
  return `${header.join("\n")}\n${requirements}`;
}

/** The lock and its files; what was missing is no longer. */
export function recordLock(
  { folder }: EnvironmentFolder,
  lock: string,
  files: readonly WheelhouseFile[],
): void {
  writeAside(path.join(folder, "wheelhouse.json"), wheelhouseText(files));
  writeAside(path.join(folder, "requirements.lock"), lock);
  rmSync(path.join(folder, "missing.txt"), { force: true });
}

/** What is missing for a lock. A lock that is there stays: it was good once, and its files may be in a wheelhouse. */
export function recordMissing({ folder, lock }: EnvironmentFolder, lines: readonly string[]): boolean {
  if (lock !== undefined) return false;
  const header = "# Written by ./stack pin: what a lock would need and could not be had.";
  writeAside(path.join(folder, "missing.txt"), `${[header, ...lines].join("\n")}\n`);
  return true;
}
