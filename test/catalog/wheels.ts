/** Runs a release's own argument parser, where its wheel can be had. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";

export const SCRIPT = join(__dirname, "..", "..", "scripts", "catalog", "extract_release.py");

export interface Parsed {
  readonly ok: boolean;
  readonly error?: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

/**
 * Why the release's wheel cannot be had here, or undefined. Where CI is set, nothing is excused: the tests then run
 * and fail with pip's words.
 */
export function whyUnavailable(version: string): string | undefined {
  if (process.env["CI"] !== undefined) return undefined;
  const done = spawnSync("python3", [SCRIPT, version, "--parse"], { input: "", encoding: "utf8" });
  return done.status === 0 ? undefined : (done.stderr.trim().split("\n").at(-1) ?? "python3 cannot be run");
}

/** What the release's own parser makes of each command line. */
export function parseWithRelease(version: string, lines: readonly (readonly string[])[]): Parsed[] {
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const output = execFileSync("python3", [SCRIPT, version, "--parse"], {
    input,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Parsed);
}
