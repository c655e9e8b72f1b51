import { spawnSync } from "node:child_process";
import { PROJECT_DIRECTORY } from "../../config/load";
import { UsageError } from "../exit-codes";

export interface GitResult {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs git in the project's folder. */
export function git(...words: string[]): GitResult {
  const { status, stdout, error } = spawnSync("git", words, { cwd: PROJECT_DIRECTORY, encoding: "utf8" });
  if (error !== undefined) throw new Error(`git cannot be run: ${error.message}`);
  return { ok: status === 0, output: stdout };
}

/**
 * The commit at which this branch left BASE: what a pull request is compared with.
 *
 * @throws UsageError when BASE is no revision, or has nothing in common with this branch
 */
export function mergeBase(base: string): string {
  if (base.startsWith("-") || !git("rev-parse", "--verify", "--quiet", `${base}^{commit}`).ok)
    throw new UsageError(
      `"${base}" is no revision that git knows here: fetch it, or name a folder that render --out made`,
    );
  const { ok, output } = git("merge-base", base, "HEAD");
  if (!ok)
    throw new UsageError(
      `${base} and this branch have no commit in common: in a shallow clone, run git fetch --unshallow`,
    );
  return output.trim();
}
