import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

export interface Lock {
  /** Whether `environments/<name>/` is there. */
  readonly folderExists: boolean;
  /** Whether the folder has its `requirements.lock`. */
  readonly lockExists: boolean;
  /** The lock's SGLang: a release, or the commit of a development build. */
  readonly release: string | undefined;
  /** The lock's `sglang-router==`. */
  readonly routerRelease: string | undefined;
}

/** SGLang in a lock: `sglang==0.5.11`, or `sglang @ git+https://…@<commit>`. */
function sglangIn(text: string): string | undefined {
  const release = /^sglang(?:\[[^\]]*\])?\s*==\s*([^\s;\\]+)/m.exec(text)?.[1];
  if (release !== undefined) return release;
  return /^sglang(?:\[[^\]]*\])?\s*@\s*git\+[^\s@]+@([0-9a-f]{7,40})/m.exec(text)?.[1];
}

/** What `environments/<name>/` says. */
export function readLock(name: string, projectDirectory: string): Lock {
  const folder = path.join(projectDirectory, "environments", name);
  const file = path.join(folder, "requirements.lock");
  const lockExists = existsSync(file);
  const text = lockExists ? readFileSync(file, "utf8") : "";
  return {
    folderExists: existsSync(folder),
    lockExists,
    release: sglangIn(text),
    routerRelease: /^sglang-router\s*==\s*([^\s;\\]+)/m.exec(text)?.[1],
  };
}

/** The folders that a stack may name. */
export function lockNames(projectDirectory: string): string[] {
  const folder = path.join(projectDirectory, "environments");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}
