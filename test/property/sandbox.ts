/** Runs what was rendered with the real bash, in a folder where nothing may appear. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** What a script prints, split at NUL. Throws when it fails, or when anything of a text was run. */
export function run(script: string, ...words: string[]): string[] {
  const folder = mkdtempSync(path.join(tmpdir(), "sandbox-"));
  try {
    const { status, stdout, stderr } = spawnSync("bash", ["--noprofile", "--norc", "-s", "--", ...words], {
      input: script,
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" },
    });
    const made = readdirSync(folder);
    if (made.length > 0) throw new Error(`a text was run: it made ${made.join(", ")}`);
    if (status !== 0 || stderr !== "") throw new Error(`bash ended with ${String(status)}: ${stderr}`);
    return stdout.split("\0").slice(0, -1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The words of each command line after its `--`, as the program that it starts would get them. */
export function wordsAfterDashes(lines: readonly string[]): string[][] {
  const show = `{ printf '%s\\0' "$@" ''; printf 'end of line\\0'; }`;
  const words = run([`bash() ${show}`, `pct() ${show}`, ...lines, ""].join("\n"));
  const result: string[][] = [];
  let current: string[] = [];
  for (const word of words) {
    if (word !== "end of line") current.push(word);
    else {
      // The last word is the empty one that keeps printf from being called with nothing.
      result.push(current.slice(current.lastIndexOf("--", 8) + 1, -1));
      current = [];
    }
  }
  return result;
}
