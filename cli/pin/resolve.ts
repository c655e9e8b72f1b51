/** Resolution by the pinned uv, with what the catalog knows as constraints. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { normalizedName, parseLock } from "../../config/environment/requirements";
import type { EnvironmentFolder } from "../../config/environment-folder";
import { versionsOf } from "../../plan/pin/check";
import { PLATFORM, pinInputs, type PinInputs } from "../../plan/pin/inputs";
import { chosenFiles, type ChosenFile } from "./pylock";
import { capture, uvEnvironment } from "./tools";

export interface Resolution {
  readonly inputs: PinInputs;
  /** Body of requirements.lock, without its header. */
  readonly requirements: string;
  /** The exact files, of which some may lack their size. */
  readonly files: readonly ChosenFile[];
}

export interface Resolver {
  readonly environment: EnvironmentFolder;
  /** Packages that wheels.toml builds: resolved for their requirements, left out of the lock. */
  readonly built: readonly string[];
  /** Address of the default package index. */
  readonly index: string;
  /** The uv to use. */
  readonly uv: string;
  /** An empty folder. */
  readonly folder: string;
}

/** More rounds than known breakages can add to one another. */
const MAXIMUM_ROUNDS = 5;

async function compile(resolver: Resolver, words: readonly string[]): Promise<void> {
  const { environment, built, folder, uv, index } = resolver;
  await capture(
    uv,
    [
      ...["pip", "compile", "pyproject.toml", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"],
      ...["--no-emit-index-url", "--only-binary", ":all:", "--index-strategy", "first-index"],
      ...["--prerelease", "explicit", "--constraints", "constraints.txt"],
      ...["--python-version", environment.pythonVersion, "--python-platform", PLATFORM],
      ...built.flatMap((name) => ["--no-emit-package", name]),
      ...words,
    ],
    { cwd: folder, env: uvEnvironment(index) },
  );
}

/**
 * Resolves until every known breakage whose condition the result meets was among the constraints.
 *
 * @throws CommandError with uv's own words when there is no solution or something cannot be had
 */
export async function resolve(resolver: Resolver): Promise<Resolution> {
  const { environment, built, folder } = resolver;
  copyFileSync(path.join(environment.folder, "pyproject.toml"), path.join(folder, "pyproject.toml"));
  const applied = new Map<string, string>();
  let inputs = pinInputs(environment, {}, built);
  let requirements = "";
  for (let round = 0; round < MAXIMUM_ROUNDS; round += 1) {
    for (const { package: name, specifier, origin } of inputs.constraints) {
      applied.set(`${name} ${specifier}`, `${name}${specifier}  # ${origin}`);
    }
    writeFileSync(path.join(folder, "constraints.txt"), `${[...applied.values()].join("\n")}\n`);
    await compile(resolver, ["--output-file", "requirements.txt"]);
    requirements = readFileSync(path.join(folder, "requirements.txt"), "utf8");
    inputs = pinInputs(environment, versionsOf(parseLock(requirements).packages), built);
    if (inputs.constraints.every(({ package: name, specifier }) => applied.has(`${name} ${specifier}`)))
      break;
  }
  // The same resolution once more, as the list of the exact files: requirements.txt is no input of the first.
  await compile(resolver, [
    "--constraints",
    "requirements.txt",
    "--format",
    "pylock.toml",
    "--output-file",
    "pylock.toml",
  ]);
  const sources = Object.entries(environment.uv.sources).map(
    ([name, { index }]) => [normalizedName(name), index] as const,
  );
  const indexes = new Map(sources);
  const pylock = readFileSync(path.join(folder, "pylock.toml"), "utf8");
  const files = chosenFiles(pylock, environment.pythonVersion, (name) => indexes.get(name));
  return { inputs, requirements, files };
}
