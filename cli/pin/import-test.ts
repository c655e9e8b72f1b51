/** A throw-away environment from the wheelhouse alone, and the imports of the smoke test in it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../config/load";
import type { EnvironmentFolder } from "../../config/environment-folder";
import { capture, CommandError, uvEnvironment, WHEELHOUSE_TOOL } from "./tools";

const IMPORT_TEST = path.join(PROJECT_DIRECTORY, "scripts/tools/import-test.py");

export interface ImportTest {
  /** Versions that differ and imports that fail. */
  readonly failures: readonly string[];
  /** Imports that need a GPU, which this machine does not have. */
  readonly untried: readonly string[];
  /** Imports that worked. */
  readonly imported: readonly string[];
}

interface Answer {
  readonly wrong: readonly string[];
  readonly imports: readonly { module: string; state: "fine" | "failed" | "no-gpu"; message: string }[];
}

/** The interpreter: unpacked from the pinned archive, else this machine's own of that version. */
async function interpreter(
  { python, pythonVersion, files }: EnvironmentFolder,
  wheelhouse: string,
  folder: string,
): Promise<string> {
  if (python === undefined) return pythonVersion;
  const name =
    files?.find(({ sha256 }) => sha256 === python.sha256)?.name ??
    path.basename(new URL(python.url).pathname);
  await capture("tar", [
    "-xf",
    path.join(wheelhouse, "files", python.sha256, decodeURIComponent(name)),
    "-C",
    folder,
  ]);
  return path.join(folder, "python/bin/python3");
}

/**
 * Installs a lock without network and tries what the smoke test names.
 *
 * @param lock path of the lock
 * @param list path of its wheelhouse.json
 * @throws CommandError when the packages do not install, or there is no such Python
 */
export async function importTest(
  environment: EnvironmentFolder,
  options: { uv: string; wheelhouse: string; lock: string; list: string; folder: string },
): Promise<ImportTest> {
  const { uv, wheelhouse, lock, list, folder } = options;
  const venv = path.join(folder, "venv");
  const links = path.join(folder, "links");
  // Its cache goes with the folder: it holds every package unpacked.
  const cache = path.join(folder, "cache");
  const env = uvEnvironment("", { UV_OFFLINE: "1", UV_LINK_MODE: "hardlink", UV_CACHE_DIR: cache });
  await capture("python3", [WHEELHOUSE_TOOL, "link", "--dir", wheelhouse, "--list", list, "--to", links]);
  const python = await interpreter(environment, wheelhouse, folder);
  try {
    await capture(uv, ["venv", "--quiet", "--python", python, venv], { env });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      `Python ${environment.pythonVersion} is needed for the import test: ${error.message}`,
      {
        cause: error,
      },
    );
  }
  const binary = path.join(venv, "bin/python");
  await capture(
    uv,
    [
      "pip",
      "sync",
      "--quiet",
      "--python",
      binary,
      "--no-index",
      "--find-links",
      links,
      "--require-hashes",
      lock,
    ],
    { env },
  );
  const declared = path.join(folder, "smoke-test.json");
  writeFileSync(declared, JSON.stringify(environment.smokeTest));
  const answer = JSON.parse(await capture(binary, ["-I", IMPORT_TEST, lock, declared])) as Answer;
  const lines = (state: string) =>
    answer.imports
      .filter((tried) => tried.state === state)
      .map(({ module, message }) => `import ${module}: ${message}`);
  return {
    failures: [...answer.wrong, ...lines("failed")],
    untried: lines("no-gpu"),
    imported: answer.imports.flatMap(({ module, state }) => (state === "fine" ? [module] : [])),
  };
}
