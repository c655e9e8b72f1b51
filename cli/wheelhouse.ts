/** `./stack wheelhouse fetch|verify|gc`: the files of locks in a local folder, by scripts/tools/wheelhouse.py. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileNameOf } from "../config/checksum";
import { readEnvironmentFolder, type UvSettings } from "../config/environment-folder";
import { PROJECT_DIRECTORY } from "../config/load";
import { lockNames } from "../config/lock";
import { UNKNOWN } from "../config/schema";
import { archivesOf, readWheelRecipes } from "../config/wheels";
import { environmentNames } from "./environment-argument";
import { UsageError, type ExitCode } from "./exit-codes";
import { wheelhouseText } from "./pin/record";
import { localWheelhouse, show, WHEELHOUSE_TOOL, withIndex, workFolder } from "./pin/tools";

export interface WheelhouseOptions {
  /** The wheelhouse. Default: the local one. */
  readonly dir?: string;
  /** Folder that holds `environments/`. Default: this project. */
  readonly projectDirectory?: string;
}

/** Size of a file that is in a wheelhouse. */
export function fileSize(wheelhouse: string, { name, sha256 }: { name: string; sha256: string }): number {
  return statSync(path.join(wheelhouse, "files", sha256, name)).size;
}

/** Fetches lists of files; the tool's progress and failures are shown. */
export async function fetchList(
  lists: readonly string[],
  indexes: UvSettings["index"],
  wheelhouse: string,
  from: { index?: string; mirror?: string } = {},
): Promise<ExitCode> {
  const words = [
    ...["fetch", "--dir", wheelhouse, ...lists.flatMap((list) => ["--list", list])],
    ...indexes.flatMap(({ name, url }) => ["--index-of", `${name}=${url}`]),
    ...(from.mirror === undefined ? [] : ["--mirror", from.mirror]),
  ];
  const code = await show("python3", [WHEELHOUSE_TOOL, ...words], withIndex(from.index));
  return code as ExitCode;
}

/** Lists of everything that an environment needs: uv, and the files of its lock. */
function listsOf(name: string, projectDirectory: string): string[] {
  const uv = path.join(projectDirectory, "environments/uv.wheelhouse.json");
  const own = path.join(projectDirectory, "environments", name, "wheelhouse.json");
  return [uv, own].filter((file) => existsSync(file));
}

/** The one environment that NAME means, which must have a list of files. */
function oneName(name: string, projectDirectory: string): string {
  const [known = name] = environmentNames([name], projectDirectory);
  if (readEnvironmentFolder(known, projectDirectory).files === undefined) {
    throw new UsageError(`environments/${known} has no wheelhouse.json: run ./stack pin ${known}`);
  }
  return known;
}

/** Brings every file of an environment's lock; exit code 1 names those that cannot be had. */
export async function fetchFiles(
  name: string,
  options: WheelhouseOptions & { index?: string; mirror?: string },
): Promise<ExitCode> {
  const projectDirectory = options.projectDirectory ?? PROJECT_DIRECTORY;
  const environment = readEnvironmentFolder(oneName(name, projectDirectory), projectDirectory);
  const wheelhouse = path.resolve(options.dir ?? localWheelhouse());
  mkdirSync(wheelhouse, { recursive: true });
  return fetchList(listsOf(name, projectDirectory), environment.uv.index, wheelhouse, options);
}

/** Runs the tool on lists of files; what it prints is shown. */
async function runTool(
  action: string,
  wheelhouse: string,
  lists: readonly string[],
  flags: readonly string[],
): Promise<ExitCode> {
  const words = lists.flatMap((list) => ["--list", list]);
  return (await show("python3", [
    WHEELHOUSE_TOOL,
    action,
    "--dir",
    wheelhouse,
    ...words,
    ...flags,
  ])) as ExitCode;
}

/** Hashes every file of an environment's lock anew; exit code 2 names what is missing or corrupt. */
export async function verifyFiles(
  name: string,
  options: WheelhouseOptions & { quick?: boolean },
): Promise<ExitCode> {
  const projectDirectory = options.projectDirectory ?? PROJECT_DIRECTORY;
  const lists = listsOf(oneName(name, projectDirectory), projectDirectory);
  const wheelhouse = path.resolve(options.dir ?? localWheelhouse());
  return runTool("verify", wheelhouse, lists, options.quick === true ? ["--quick"] : []);
}

/** Sources of wheels, which a folder without a lock names too. */
function sourcesOf(name: string, projectDirectory: string): object[] {
  return readWheelRecipes(name, projectDirectory)
    .recipes.flatMap(archivesOf)
    .filter(({ sha256 }) => sha256 !== UNKNOWN)
    .map(({ url, sha256 }) => ({ name: fileNameOf(url), sha256, url }));
}

/** Removes the files that no environment of the project names. Wheels that were built here (built/) are left alone. */
export async function collectFiles(options: WheelhouseOptions & { dryRun?: boolean }): Promise<ExitCode> {
  const projectDirectory = options.projectDirectory ?? PROJECT_DIRECTORY;
  const wheelhouse = path.resolve(options.dir ?? localWheelhouse());
  if (!existsSync(path.join(wheelhouse, "files"))) {
    throw new UsageError(`${wheelhouse} is no wheelhouse: it has no folder files/`);
  }
  const names = lockNames(projectDirectory);
  const folder = workFolder();
  try {
    const sources = path.join(folder, "sources.json");
    writeFileSync(sources, wheelhouseText(names.flatMap((name) => sourcesOf(name, projectDirectory))));
    const lists = [...new Set([sources, ...names.flatMap((name) => listsOf(name, projectDirectory))])];
    return await runTool("gc", wheelhouse, lists, options.dryRun === true ? ["--dry-run"] : []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
