/** Where the full output of each stack's runs is kept. */
import { appendFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/** Older ones are removed. */
const KEPT_RUNS = 20;

const parentFolder = (): string =>
  path.join(process.env["XDG_STATE_HOME"] ?? path.join(homedir(), ".local/state"), "proxmox-gpu-stack/fleet");

/** Makes the folder for the logs of one run of a fleet, and removes the oldest ones. */
export function makeLogFolder(verb: string, time: Date): string {
  const parent = parentFolder();
  // Names sort by time.
  const folder = path.join(parent, `${time.toISOString().replace(/[:.]/g, "-")}-${verb}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const runs = readdirSync(parent).sort();
  for (const run of runs.slice(0, Math.max(0, runs.length - KEPT_RUNS)))
    rmSync(path.join(parent, run), { recursive: true, force: true });
  return folder;
}

/**
 * Adds to a log that only its owner reads. It gets what Pulumi prints, in which secrets are masked, and never the engine's
 * events, in which they are not.
 */
export function writeLog(file: string, text: string): void {
  appendFileSync(file, text, { mode: 0o600 });
}
