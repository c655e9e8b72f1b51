import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** Undefined where Prometheus's own tool is there. */
export const PROMTOOL_MISSING =
  spawnSync("promtool", ["--version"]).status === 0
    ? undefined
    : "promtool is missing; Debian's package prometheus has it";

export interface Checked {
  readonly status: number | null;
  readonly output: string;
}

/** Runs promtool in a folder that holds the given files and goes afterwards. */
export function promtool(
  words: readonly string[],
  { files = {}, input = "" }: { files?: Readonly<Record<string, string>>; input?: string } = {},
): Checked {
  const folder = mkdtempSync(path.join(tmpdir(), "promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
    const { status, stdout, stderr } = spawnSync("promtool", [...words], {
      cwd: folder,
      input,
      encoding: "utf8",
    });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
