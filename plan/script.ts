import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Step, StepTarget } from "./step";

/** What a script is asked to do: make it so, only look, take away. */
export type StepMode = "apply" | "check" | "remove";

export const SCRIPTS = join(__dirname, "..", "scripts");

/** A short digest for command lines: enough to tell two versions apart, short enough to read. */
export function shortDigest(...texts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}:`).update(text);
  return hash.digest("hex").slice(0, 12);
}

/** Any text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Each file below `scripts/` is read once: a stack has the same scripts for every container. */
const texts = new Map<string, string>();

/** The text of a file below `scripts/`, without trailing newlines: a step adds its own. */
export function scriptText(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(join(SCRIPTS, path), "utf8").replace(/\n+$/, "");
  texts.set(path, text);
  return text;
}

/** The libraries that a script names in its header (`# uses: step files`). */
export function librariesOf(script: string): string[] {
  const line = /^# uses: (.+)$/m.exec(script);
  if (!line?.[1]) throw new Error(`a step script must name its libraries in a line "# uses: …"`);
  return line[1].trim().split(/\s+/);
}

const composed = new Map<string, string>();

/** The script of a step with everything it uses, before values and secrets are put in front. */
function composedScript(step: Step): string {
  const known = composed.get(step.script);
  if (known !== undefined) return known;
  const path = `${step.script}.sh`;
  if (!existsSync(join(SCRIPTS, path))) throw new Error(`step ${step.name}: there is no script ${path}`);
  const script = scriptText(path);
  const libraries = librariesOf(script).map((name) => scriptText(`lib/${name}.sh`));
  const text = [...libraries, script].join("\n\n");
  composed.set(step.script, text);
  return text;
}

function associativeArray(name: string, values: Readonly<Record<string, string>>): string {
  const entries = Object.keys(values)
    .sort()
    .map((key) => `[${shellWord(key)}]=${shellWord(values[key] ?? "")}`);
  return `declare -rA ${name}=(${entries.join(" ")})`;
}

/** Identifies all that a step runs with, but secrets: script, libraries and texts. */
export function stepDigest(step: Step): string {
  return shortDigest(composedScript(step), JSON.stringify(Object.entries(step.texts).sort()));
}

/**
 * What goes to `bash -s` on standard input. The script is parsed whole before its last line runs it, so that nothing it
 * starts can eat the rest of it.
 */
export function stepInput(step: Step, secrets: Readonly<Record<string, string>> = {}): string {
  return [
    "set -euo pipefail",
    associativeArray("FILES", step.texts),
    associativeArray("SECRETS", secrets),
    composedScript(step),
    'step_main "$@" </dev/null',
    "",
  ].join("\n");
}

function runner(target: StepTarget): string {
  return target.kind === "host" ? "bash -s" : `pct exec ${target.vmId} --keep-env 0 -- bash -s`;
}

/** `NAME=VALUE` words of a step, sorted; `mode` is left out for apply. */
export function stepArguments(step: Step, mode: StepMode = "apply"): string[] {
  const args: Record<string, string> = { ...step.args, script: stepDigest(step) };
  if (mode !== "apply") args.mode = mode;
  return Object.keys(args)
    .sort()
    .map((key) => shellWord(`${key}=${args[key] ?? ""}`));
}

/** The line that a preview shows and an error repeats. */
export function stepCommand(step: Step, mode: StepMode = "apply"): string {
  return [`${runner(step.target)} --`, step.name, ...stepArguments(step, mode)].join(" ");
}
