/** Resolution by the pinned uv, with what the catalog knows as constraints. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { normalizedName, parseLock } from "../../config/environment/requirements";
import type { EnvironmentFolder } from "../../config/environment-folder";
import { versionsOf } from "../../plan/pin/check";
import { PLATFORM, pinInputs, type PinInputs } from "../../plan/pin/inputs";
import { needsRouter, withoutIndexes, withRouter } from "./index-router";
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
  /** Hashed lock of what builds them; empty: nothing is built. */
  readonly buildLock: string;
  /** Address of the default package index. */
  readonly index: string;
  /** The uv to use. */
  readonly uv: string;
  /** An empty folder. */
  readonly folder: string;
}

/** More rounds than known breakages can add to one another. */
const MAXIMUM_ROUNDS = 5;

async function compile(
  { environment, built, folder, uv, index }: Resolver,
  input: string,
  output: string,
  words: readonly string[],
): Promise<string> {
  await capture(
    uv,
    [
      ...["pip", "compile", input, "--output-file", output, "--quiet", "--generate-hashes", "--no-header"],
      ...[
        "--no-annotate",
        "--no-emit-index-url",
        "--only-binary",
        ":all:",
        "--index-strategy",
        "first-index",
      ],
      ...["--prerelease", "explicit", "--python-version", environment.pythonVersion],
      ...["--python-platform", PLATFORM, ...built.flatMap((name) => ["--no-emit-package", name])],
      ...words,
    ],
    { cwd: folder, env: uvEnvironment(index) },
  );
  return readFileSync(path.join(folder, output), "utf8");
}

/** Resolves until every known breakage whose condition the result meets was among the constraints. */
async function requirementsOf(resolver: Resolver): Promise<{ requirements: string; inputs: PinInputs }> {
  const { environment, built, folder } = resolver;
  const applied = new Map<string, string>();
  let inputs = pinInputs(environment, {}, built);
  let requirements = "";
  for (let round = 0; round < MAXIMUM_ROUNDS; round += 1) {
    for (const { package: name, specifier, origin } of inputs.constraints) {
      applied.set(`${name} ${specifier}`, `${name}${specifier}  # ${origin}`);
    }
    writeFileSync(path.join(folder, "constraints.txt"), `${[...applied.values()].join("\n")}\n`);
    requirements = await compile(resolver, "pyproject.toml", "requirements.txt", [
      "--constraints",
      "constraints.txt",
    ]);
    inputs = pinInputs(environment, versionsOf(parseLock(requirements).packages), built);
    const isComplete = inputs.constraints.every((one) => applied.has(`${one.package} ${one.specifier}`));
    if (isComplete) break;
  }
  return { requirements, inputs };
}

/** Files of both locks, each once. */
function together(files: readonly ChosenFile[]): ChosenFile[] {
  return [...new Map(files.map((file) => [file.sha256, file])).values()];
}

async function resolveAgainst(resolver: Resolver, pyproject: string): Promise<Resolution> {
  const { environment, buildLock, folder } = resolver;
  const { pythonVersion, uv } = environment;
  writeFileSync(path.join(folder, "pyproject.toml"), pyproject);
  const { requirements, inputs } = await requirementsOf(resolver);
  // The same resolution once more, as the list of the exact files.
  const list = ["--format", "pylock.toml"];
  const words = [...list, "--constraints", "requirements.txt"];
  const pylock = await compile(resolver, "pyproject.toml", "pylock.toml", words);
  const indexes = new Map(
    Object.entries(uv.sources).map(([name, { index }]) => [normalizedName(name), index]),
  );
  const files = chosenFiles(pylock, pythonVersion, (name) => indexes.get(name));
  if (buildLock !== "") {
    writeFileSync(path.join(folder, "build.txt"), buildLock);
    const tools = await compile(resolver, "build.txt", "pylock.build.toml", [...list, "--no-deps"]);
    files.push(...chosenFiles(tools, pythonVersion, () => undefined));
  }
  return { inputs, requirements, files: together(files) };
}

/**
 * Resolves an environment: the lock's text and its exact files, those of its build.lock included.
 *
 * @throws CommandError with uv's own words when there is no solution or something cannot be had
 */
export async function resolve(resolver: Resolver): Promise<Resolution> {
  const { environment, index } = resolver;
  const pyproject = readFileSync(path.join(environment.folder, "pyproject.toml"), "utf8");
  if (!needsRouter(environment.uv)) return resolveAgainst(resolver, pyproject);
  return withRouter(environment.uv, index, (router) =>
    resolveAgainst({ ...resolver, index: router }, withoutIndexes(pyproject)),
  );
}
