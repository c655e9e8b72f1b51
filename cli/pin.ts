/** `./stack pin NAME`: resolves an environment, tries it, and writes its lock; `./stack pin --check`: whether locks hold. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  readEnvironmentFolder,
  type EnvironmentFolder,
  type SmokeTest,
  type WheelhouseFile,
} from "../config/environment-folder";
import { fileNameOf } from "../config/checksum";
import { PROJECT_DIRECTORY } from "../config/load";
import { formatProblems, type Problem } from "../config/problems";
import { UNKNOWN } from "../config/schema";
import { archivesOf, readWheelRecipes, type WheelRecipe, type WheelRecipes } from "../config/wheels";
import { pinProblems } from "../plan/pin/check";
import { environmentNames } from "./environment-argument";
import { EXIT, type ExitCode } from "./exit-codes";
import { importTest } from "./pin/import-test";
import { missingLines } from "./pin/missing";
import type { ChosenFile } from "./pin/pylock";
import { lockText, recordLock, recordMissing, wheelhouseText } from "./pin/record";
import { resolve, type Resolution } from "./pin/resolve";
import { CommandError, installUv, localWheelhouse, machineIndex, workFolder } from "./pin/tools";
import { fetchList, fileSize } from "./wheelhouse";
import { say } from "./say";

export interface PinOptions {
  /** Default package index. Default: the one of this machine. */
  readonly index?: string;
  /** Whether what was resolved is fetched, installed and imported before the lock is written. Default: true. */
  readonly importTest?: boolean;
  /** The wheelhouse. Default: the local one. */
  readonly dir?: string;
  /** Folder that holds `environments/`. Default: this project. */
  readonly projectDirectory?: string;
}

/** Interpreter and sources as files of the wheelhouse; their sizes become known when they were fetched. */
function archiveFiles({ python }: EnvironmentFolder, recipes: readonly WheelRecipe[]): ChosenFile[] {
  return [...(python === undefined ? [] : [python]), ...recipes.flatMap(archivesOf)]
    .filter(({ sha256 }) => sha256 !== UNKNOWN)
    .map(({ url, sha256 }) => ({ name: fileNameOf(url), sha256, url }));
}

/** Every file with its size; files of which the index tells none are fetched for it. */
async function withSizes(
  files: readonly ChosenFile[],
  fetching: { environment: EnvironmentFolder; wheelhouse: string; index: string; folder: string },
): Promise<WheelhouseFile[] | undefined> {
  const unknown = files.filter(({ bytes }) => bytes === undefined);
  if (unknown.length > 0) {
    const list = path.join(fetching.folder, "sizeless.json");
    writeFileSync(list, wheelhouseText(unknown));
    const { environment, wheelhouse, index } = fetching;
    if ((await fetchList([list], environment.uv.index, wheelhouse, { index })) !== EXIT.fine)
      return undefined;
  }
  return files.map((file) => ({ ...file, bytes: file.bytes ?? fileSize(fetching.wheelhouse, file) }));
}

interface Run {
  readonly environment: EnvironmentFolder;
  readonly wheels: WheelRecipes;
  readonly uv: string;
  readonly index: string;
  readonly wheelhouse: string;
  readonly folder: string;
}

/** The smoke test without what wheels built from source bring: it is tried where they are built. */
function withoutBuilt(test: SmokeTest, recipes: readonly WheelRecipe[]): SmokeTest {
  if (recipes.length === 0) return test;
  const modules = recipes.flatMap(({ imports }) => imports);
  return { ...test, imports: test.imports.filter((name) => !modules.includes(name)), architectures: [] };
}

/** Fetches and tries what was resolved. Returns what the header says about it; undefined: it failed, and was told. */
async function tried(
  run: Run,
  resolution: Resolution,
  files: readonly WheelhouseFile[],
): Promise<string | undefined> {
  const { environment, uv, index, wheelhouse, folder } = run;
  const lock = path.join(folder, "requirements.lock");
  const list = path.join(folder, "wheelhouse.json");
  writeFileSync(lock, resolution.requirements);
  writeFileSync(list, wheelhouseText(files));
  if ((await fetchList([list], environment.uv.index, wheelhouse, { index })) !== EXIT.fine) return undefined;
  say("import test: an environment from the wheelhouse alone");
  const { failures, untried, imported } = await importTest(
    { ...environment, smokeTest: withoutBuilt(environment.smokeTest, run.wheels.recipes) },
    { uv, wheelhouse, lock, list, folder },
  );
  for (const line of untried) say(`  needs a GPU, not tried: ${line}`);
  if (failures.length > 0) {
    say(`the import test failed, nothing was written:\n${failures.map((line) => `  ${line}`).join("\n")}`);
    return undefined;
  }
  const modules = untried.map((line) => /^import (\S+):/.exec(line)?.[1] as string);
  const needGpu = modules.length === 0 ? "" : `; need a GPU: ${modules.join(", ")}`;
  return `passed (${imported.join(", ") || "nothing to import"})${needGpu}`;
}

async function pinOne(run: Run, options: PinOptions): Promise<ExitCode> {
  const { environment, uv, index, folder } = run;
  const { recipes, buildLock } = run.wheels;
  const built = recipes.map((recipe) => recipe.package);
  say(`resolving ${environment.name}`);
  let resolution: Resolution;
  try {
    resolution = await resolve({ environment, built, buildLock, index, uv, folder });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const missing = await missingLines(environment, recipes, index);
    if (missing.length === 0) {
      say(`${environment.name} cannot be resolved:\n${error.message.trim()}`);
      return EXIT.problems;
    }
    const written = recordMissing(environment, missing);
    const note = written
      ? `environments/${environment.name}/missing.txt says what is missing`
      : "the lock that is there stays";
    say(`${environment.name} cannot be locked; ${note}:\n${missing.map((line) => `  ${line}`).join("\n")}`);
    return EXIT.problems;
  }
  const files = await withSizes([...resolution.files, ...archiveFiles(environment, recipes)], run);
  if (files === undefined) return EXIT.problems;
  const sorted = files.sort((a, b) => (a.name < b.name ? -1 : 1));
  const result = options.importTest === false ? "not run" : await tried(run, resolution, sorted);
  if (result === undefined) return EXIT.problems;
  recordLock(environment, lockText(resolution.inputs.digest, result, resolution.requirements), sorted);
  const total = sorted.reduce((sum, { bytes }) => sum + bytes, 0);
  const count = resolution.files.length;
  process.stdout.write(
    `environments/${environment.name}: ${count} packages, ${(total / 1e6).toFixed(0)} MB; import test: ${result}\n`,
  );
  return EXIT.fine;
}

/** What is wrong with wheels.toml; values that nobody recorded yet are no error. */
function errorsOf({ problems }: WheelRecipes): Problem[] {
  return problems.filter(({ severity }) => severity === "error");
}

/**
 * Resolves environments and writes their locks. Nothing is written to a folder unless everything about it passed.
 *
 * @throws UsageError for a name that is no folder of environments/
 */
export async function pin(names: readonly string[], options: PinOptions = {}): Promise<ExitCode> {
  const projectDirectory = options.projectDirectory ?? PROJECT_DIRECTORY;
  const uv = await installUv();
  const index = options.index ?? (await machineIndex());
  const wheelhouse = path.resolve(options.dir ?? localWheelhouse());
  mkdirSync(wheelhouse, { recursive: true });
  let code: ExitCode = EXIT.fine;
  for (const name of environmentNames(names, projectDirectory)) {
    const environment = readEnvironmentFolder(name, projectDirectory);
    const wheels = readWheelRecipes(name, projectDirectory);
    const problems = [...environment.problems, ...errorsOf(wheels)];
    if (problems.length > 0) {
      say(formatProblems(`environments/${name}`, problems));
      code = EXIT.problems;
      continue;
    }
    const folder = workFolder();
    try {
      const result = await pinOne({ environment, wheels, uv, index, wheelhouse, folder }, options);
      if (result !== EXIT.fine) code = result;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return code;
}

/** `./stack pin --check [NAME…]`: exit code 1 when pins, catalog, lock and list of files disagree. No network. */
export function checkPins(
  names: readonly string[],
  options: { json?: boolean; projectDirectory?: string } = {},
): ExitCode {
  const projectDirectory = options.projectDirectory ?? PROJECT_DIRECTORY;
  const found = environmentNames(names, projectDirectory).map((name) => {
    const environment = readEnvironmentFolder(name, projectDirectory);
    const wheels = readWheelRecipes(name, projectDirectory);
    return { environment, problems: [...errorsOf(wheels), ...pinProblems(environment, wheels)] };
  });
  const all = found.flatMap(({ problems }) => problems);
  if (options.json === true) process.stdout.write(`${JSON.stringify({ problems: all }, null, 2)}\n`);
  else {
    for (const { environment, problems } of found) {
      const { name, lock, missing } = environment;
      const fine =
        lock === undefined
          ? `environments/${name}: no lock, as missing.txt says (${missing.length} lines)`
          : `environments/${name}: fine (${lock.packages.length} packages)`;
      process.stdout.write(
        `${problems.length === 0 ? fine : formatProblems(`environments/${name}`, problems)}\n`,
      );
    }
  }
  return all.some(({ severity }) => severity === "error") ? EXIT.problems : EXIT.fine;
}
