/** Measuring command lines with hyperfine, and tables of what was seen. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PROJECT } from "../test/lab/stack/lab-stack";

/** One way to do what is compared. */
export interface Way {
  readonly name: string;
  /** Run before each measurement. */
  readonly prepare?: string;
  readonly command: string;
}

/** How long a way took, in seconds. */
export interface Measured {
  readonly name: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface HyperfineOptions {
  readonly runs: string;
  readonly warmup?: number;
  readonly environment?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

interface HyperfineResults {
  readonly results: readonly {
    readonly command: string;
    readonly median: number;
    readonly min: number;
    readonly max: number;
  }[];
}

/** Measures the ways one after the other; returns hyperfine's own export of them. */
export function hyperfineExport(
  format: "json" | "markdown",
  ways: readonly Way[],
  options: HyperfineOptions,
): string {
  const work = mkdtempSync(join(tmpdir(), "bench-"));
  const file = join(work, "results");
  const words = ["--style", "basic", "--warmup", String(options.warmup ?? 0), "--runs", options.runs];
  words.push(`--export-${format}`, file);
  for (const { name, prepare, command } of ways)
    words.push("--command-name", name, "--prepare", prepare ?? "true", command);
  const { status } = spawnSync("hyperfine", words, {
    env: options.environment ?? process.env,
    stdio: ["ignore", 2, 2],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  if (status !== 0) throw new Error(`hyperfine ended with ${status}`);
  const exported = readFileSync(file, "utf8");
  rmSync(work, { recursive: true });
  return exported;
}

/** Measures the ways one after the other. */
export function hyperfine(ways: readonly Way[], options: HyperfineOptions): Measured[] {
  const { results } = JSON.parse(hyperfineExport("json", ways, options)) as HyperfineResults;
  return results.map(({ command, median, min, max }) => ({ name: command, median, min, max }));
}

/** Runs a command line in the project's folder and resolves with the seconds that it took, while others go on here. */
export function seconds(
  command: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const begun = Date.now();
  const child = spawn(command, words, { cwd: PROJECT, env: environment, stdio: ["ignore", 2, 2] });
  return new Promise((resolve, reject) => {
    child.on("exit", (status) => {
      if (status === 0) resolve((Date.now() - begun) / 1000);
      else reject(new Error(`${words.join(" ")} ended with ${status}`));
    });
  });
}

/** Seconds that were taken otherwise, summed up as hyperfine does. */
export function measured(name: string, seconds: readonly number[]): Measured {
  const sorted = [...seconds].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] ?? NaN);
  return { name, median: (lower + upper) / 2, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** A Markdown table; the first column is text. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 ? ":--" : "--:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n") + "\n\n";
}

/** Seconds of each way, and how many times as long as `base` each took. */
export function comparison(measured: readonly Measured[], base: string): string {
  const whole = measured.find(({ name }) => name === base);
  if (whole === undefined) throw new Error(`nothing was measured as '${base}'`);
  return table(
    ["way", "median [s]", "min [s]", "max [s]", `ratio to ${base}`],
    measured.map(({ name, median, min, max }) => [
      name,
      ...[median, min, max, median / whole.median].map((value) => value.toFixed(2)),
    ]),
  );
}

/** Whether a ratio of two medians is within its goal, as a line of text. */
export function goal(
  text: string,
  measured: readonly Measured[],
  ours: string,
  theirs: string,
  atMost: number,
): string {
  const median = (wanted: string): number => measured.find(({ name }) => name === wanted)?.median ?? NaN;
  const ratio = median(ours) / median(theirs);
  return `- ${text}: **${ratio <= atMost ? "met" : "missed"}**, ${ours} took ${ratio.toFixed(2)} of ${theirs} (at most ${atMost}).\n`;
}
