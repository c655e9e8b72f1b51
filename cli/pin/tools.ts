/** The pinned uv, the interpreter, the package index and the wheelhouse that `pin` and `wheelhouse` work with. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { PROJECT_DIRECTORY } from "../../config/load";
import { cacheFolder } from "../cache-folder";

const run = promisify(execFile);

const UV_LOCK = path.join(PROJECT_DIRECTORY, "environments/uv.lock.txt");
export const INDEX_TOOL = path.join(PROJECT_DIRECTORY, "scripts/tools/package_index.py");
export const WHEELHOUSE_TOOL = path.join(PROJECT_DIRECTORY, "scripts/tools/wheelhouse.py");

/** A command that failed, with its own last words. */
export class CommandError extends Error {}

/** Runs a command and returns its standard output. Throws CommandError with its words. */
export async function capture(
  command: string,
  words: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    return (await run(command, [...words], { maxBuffer: 1 << 26, ...options })).stdout;
  } catch (error) {
    const { stderr, stdout, code } = error as { stderr?: string; stdout?: string; code?: unknown };
    const said = [stderr, stdout].map((text) => text?.trim() ?? "").find((text) => text !== "");
    throw new CommandError(said ?? `${path.basename(command)} failed: ${String(code)}`, { cause: error });
  }
}

/** Runs a command that shows its own progress on standard error; its standard output is passed on. */
export async function show(command: string, words: readonly string[], env = process.env): Promise<number> {
  const child = spawn(command, [...words], { stdio: ["ignore", "pipe", "inherit"], env });
  child.stdout.on("data", (data: Buffer) => process.stdout.write(data));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

/** The local wheelhouse. */
export function localWheelhouse(): string {
  return (
    process.env["PROXMOX_GPU_STACK_WHEELHOUSE"] ?? path.join(homedir(), ".cache/proxmox-gpu-stack/wheelhouse")
  );
}

/** The pinned uv, installed into the cache from the machine's index at first. */
export async function installUv(): Promise<string> {
  const version = /^uv==(\S+)/m.exec(readFileSync(UV_LOCK, "utf8"))?.[1] as string;
  const folder = path.join(cacheFolder(), "pin", `uv-${version}`);
  const uv = path.join(folder, "bin/uv");
  if (existsSync(path.join(folder, ".complete"))) return uv;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.dirname(folder), { recursive: true });
  await capture("python3", ["-m", "venv", folder]);
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--require-hashes",
    "--no-deps",
  ];
  await capture(path.join(folder, "bin/python"), [...pip, "--requirement", UV_LOCK], {
    env: { ...process.env, PIP_FIND_LINKS: "" },
  });
  writeFileSync(path.join(folder, ".complete"), "");
  return uv;
}

/** Address of this machine's package index, for tools of this run; it may hold a password and is never written down. */
export async function machineIndex(): Promise<string> {
  return (await capture("python3", [INDEX_TOOL])).trim();
}

/** Environment in which the tools take another default index: an address may hold a password, so it is no argument. */
export function withIndex(index: string | undefined): NodeJS.ProcessEnv {
  return index === undefined ? process.env : { ...process.env, UV_DEFAULT_INDEX: index };
}

/** Settings of the person's own that would change what a lock holds. */
const FOREIGN =
  /^UV_(INDEX|EXTRA_INDEX|FIND_LINKS|EXCLUDE_NEWER|CONSTRAINT|OVERRIDE|PRERELEASE|RESOLUTION|NO_BINARY|CONFIG)/;

/** Environment for uv: the index to use, nothing of the person's that changes results, certificates as pip has them. */
export function uvEnvironment(index: string, extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const certificates = process.env["SSL_CERT_FILE"] ?? process.env["PIP_CERT"];
  return {
    ...Object.fromEntries(own),
    ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }),
    UV_DEFAULT_INDEX: index,
    UV_CACHE_DIR: path.join(cacheFolder(), "pin/uv-cache"),
    UV_PYTHON_DOWNLOADS: "never",
    UV_NO_PROGRESS: "1",
    ...extra,
  };
}

/** A new folder in the cache; the caller removes it. */
export function workFolder(): string {
  const parent = path.join(cacheFolder(), "pin");
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(path.join(parent, "work-"));
}

/** Writes a file aside and renames it. */
export function writeAside(file: string, text: string): void {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
}
