/** What a lock would need and cannot be had: asked of each index, repository and archive that the pins name. */
import { holds } from "../../catalog/package-constraints";
import { normalizedName, parseRequirement, type Requirement } from "../../config/environment/requirements";
import type { EnvironmentFolder } from "../../config/environment-folder";
import { UNKNOWN } from "../../config/schema";
import { archivesOf, type WheelRecipe } from "../../config/wheels";
import { capture, CommandError, INDEX_TOOL, withIndex } from "./tools";

/** Asks for the first byte of a file. */
const REACH = `
import sys, urllib.request
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], headers={"Range": "bytes=0-0"}), timeout=60)
except OSError as error:
    reason = getattr(error, "reason", error)
    sys.exit(getattr(reason, "strerror", None) or str(reason))
`;

/** Version in the name of a wheel, or undefined. */
function wheelVersion(fileName: string): string | undefined {
  return fileName.endsWith(".whl") ? fileName.split("-")[1] : undefined;
}

/** Why a command failed, in one line; undefined: it did not. */
async function failureOf(
  command: string,
  words: readonly string[],
  env = process.env,
): Promise<string | undefined> {
  try {
    await capture(command, words, { env });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.message.trim().split("\n").at(-1);
  }
}

async function fromGit(url: string): Promise<string> {
  const [repository = "", commit = ""] = url
    .replace(/^git\+/, "")
    .replace(/#.*$/, "")
    .split(/@(?=[^@/]*$)/);
  const failure = await failureOf("git", ["ls-remote", "--quiet", repository, "HEAD"], {
    ...process.env,
    GIT_TERMINAL_PROMPT: "0",
  });
  const place = `git repository ${repository} at ${commit}`;
  return failure === undefined
    ? `${place}: a lock holds wheels with hashes only; build it from an archive in wheels.toml`
    : `${place}: ${failure}`;
}

/** Why no wheel of a requirement can be had from its index; undefined: one can. */
async function fromIndex({ name, specifier }: Requirement, url: string): Promise<string | undefined> {
  let names: string[];
  try {
    names = (await capture("python3", [INDEX_TOOL, name], { env: withIndex(url) })).split("\n");
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.message.trim().split("\n").at(-1);
  }
  const versions = [...new Set(names.flatMap((file) => wheelVersion(file) ?? []))];
  if (versions.some((version) => holds(version, specifier))) return undefined;
  return versions.length === 0
    ? "it offers no wheel"
    : `it offers no such version (${versions.length} others are there)`;
}

async function ofRecipe(recipe: WheelRecipe): Promise<string[]> {
  const name = `${recipe.package} ${recipe.version}`;
  const archives = archivesOf(recipe);
  const unknown = archives.flatMap(({ what, sha256 }) => (sha256 === UNKNOWN ? [what] : []));
  const lines = archives.map(async ({ what, url, sha256 }) => {
    if (sha256 === UNKNOWN) return [];
    const failure = await failureOf("python3", ["-c", REACH, url]);
    return failure === undefined ? [] : [`${name}: ${what}, ${url}: ${failure}`];
  });
  const unrecorded = unknown.length === 0 ? [] : [`${name}: sha256 not recorded of ${unknown.join(", ")}`];
  return [...unrecorded, ...(await Promise.all(lines)).flat()];
}

/**
 * What cannot be had, one line each: package, version, where it was looked for, why.
 *
 * @param index address of the default index; it is not named in the lines
 */
export async function missingLines(
  environment: EnvironmentFolder,
  recipes: readonly WheelRecipe[],
  index: string,
): Promise<string[]> {
  const { uv } = environment;
  const built = recipes.map((recipe) => recipe.package);
  const overrides = uv["override-dependencies"].flatMap((text) => parseRequirement(text) ?? []);
  const overridden = overrides.map(({ name }) => name);
  const direct = environment.dependencies.flatMap((text) => parseRequirement(text) ?? []);
  const wanted = [...direct.filter(({ name }) => !overridden.includes(name)), ...overrides];
  const sources = new Map(
    Object.entries(uv.sources).map(([name, source]) => [normalizedName(name), source.index]),
  );
  const lines = wanted
    .filter(({ name }) => !built.includes(name))
    .map(async (requirement) => {
      const { name, specifier, url } = requirement;
      if (url !== undefined) return [`${name}: ${await fromGit(url)}`];
      const source = sources.get(name);
      const address = uv.index.find((entry) => entry.name === source)?.url ?? index;
      const reason = await fromIndex(requirement, address);
      const version = specifier.replace(/^==/, "");
      const place = source === undefined ? "default index" : `index ${source}`;
      return reason === undefined ? [] : [`${`${name} ${version}`.trim()}: ${place}: ${reason}`];
    });
  return [...(await Promise.all(lines)).flat(), ...(await Promise.all(recipes.map(ofRecipe))).flat()];
}
