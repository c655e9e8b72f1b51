import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Texts by their relative path. */
export type Files = Readonly<Record<string, string>>;

export interface FileDiff {
  readonly file: string;
  readonly change: "new" | "gone" | "changed";
  readonly added: number;
  readonly removed: number;
  /** The hunks of a unified diff with three lines around each change. */
  readonly text: string;
}

function write(files: Files, folder: string): void {
  for (const [file, text] of Object.entries(files)) {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/** The hunks between two files, by git: it is there wherever this project is, and its diffs are what people read. */
function hunks(folder: string, before: string, after: string): string {
  const { status, stdout, stderr, error } = spawnSync(
    "git",
    ["diff", "--no-index", "--no-color", "--no-ext-diff", "--histogram", "--unified=3", before, after],
    {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", GIT_DIR: "/dev/null" },
    },
  );
  if (error !== undefined) throw new Error(`git diff cannot be run: ${error.message}`);
  // 1: they differ.
  if (status !== 1) throw new Error(`git diff failed: ${stderr.trim()}`);
  const start = stdout.indexOf("@@");
  return start < 0 ? stdout : stdout.slice(start);
}

function lines(text: string, mark: "+" | "-"): number {
  return text.split("\n").filter((line) => line.startsWith(mark)).length;
}

/** What differs between two sets of files, sorted by path. */
export function fileDiffs(before: Files, after: Files): FileDiff[] {
  const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((file) => before[file] !== after[file])
    .sort();
  if (differing.length === 0) return [];
  const folder = mkdtempSync(path.join(tmpdir(), "proxmox-gpu-stack-diff-"));
  try {
    write(before, path.join(folder, "before"));
    write(after, path.join(folder, "after"));
    return differing.map((file) => {
      const isNew = before[file] === undefined;
      const isGone = after[file] === undefined;
      const text = hunks(
        folder,
        isNew ? "/dev/null" : `before/${file}`,
        isGone ? "/dev/null" : `after/${file}`,
      );
      const change = isNew ? "new" : isGone ? "gone" : "changed";
      return { file, change, added: lines(text, "+"), removed: lines(text, "-"), text };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
