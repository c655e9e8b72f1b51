import { readEnvironmentFolder } from "../config/environment-folder";
import type { ToolkitConfig } from "../config/schema/toolkits";
import { readWheelRecipes, type WheelRecipe, type WheelRecipes } from "../config/wheels";
import { shortDigest } from "./script";
import { toolkitDigest } from "./toolkit-steps";

/** Raised when the build itself changes so that the same inputs would give another wheel. */
const BUILD_FORMAT = "1";

/** What decides a wheel beside its recipe. */
export interface BuildChoice {
  /** Python's minor version. */
  readonly python: string;
  /** The toolkit that the environment selects. */
  readonly toolkit: ToolkitConfig | undefined;
}

/** torch of an environment's lock: its version and the hashes of its files. */
export interface LockedTorch {
  readonly version: string;
  readonly hashes: readonly string[];
}

export function lockedTorch(lock: string, projectDirectory: string): LockedTorch | undefined {
  return readEnvironmentFolder(lock, projectDirectory).lock?.packages.find(({ name }) => name === "torch");
}

/**
 * Identifies a wheel by everything that it is made from: recipe, sources, patches, build requirements, torch, compiler, Python.
 * Addresses do not count where a checksum is known.
 */
export function wheelDigest(
  recipe: WheelRecipe,
  buildLock: string,
  torch: LockedTorch | undefined,
  choice: BuildChoice,
): string {
  const { source, vendored, patches, ...rest } = recipe;
  const content = ({ url, sha256 }: { url: string; sha256: string }) =>
    /^[0-9a-f]{64}$/.test(sha256) ? sha256 : url;
  return shortDigest(
    BUILD_FORMAT,
    JSON.stringify(sorted(rest)),
    JSON.stringify([content(source), source.folder ?? ""]),
    JSON.stringify(vendored.map((entry) => [entry.name, entry.into ?? "", content(entry)])),
    JSON.stringify(patches.map(({ name, text }) => [name, text])),
    buildLock,
    torch === undefined ? "" : JSON.stringify([torch.version, [...torch.hashes].sort()]),
    choice.toolkit === undefined ? "" : toolkitDigest(choice.toolkit),
    choice.python,
  );
}

/** A copy with the keys of every mapping in order: the order in a TOML file means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** A wheel to build and its digest. */
export interface DigestedRecipe {
  readonly recipe: WheelRecipe;
  readonly digest: string;
}

/** The wheels of an environment with their digests, in the order of wheels.toml. */
export function digestedRecipes(
  lock: string,
  projectDirectory: string,
  choice: BuildChoice,
  { recipes, buildLock }: WheelRecipes = readWheelRecipes(lock, projectDirectory),
): DigestedRecipe[] {
  if (recipes.length === 0) return [];
  const torch = lockedTorch(lock, projectDirectory);
  return recipes.map((recipe) => ({ recipe, digest: wheelDigest(recipe, buildLock, torch, choice) }));
}

/**
 * Digests of the wheels that an environment builds from source; empty without wheels.toml. They are a part of the
 * environment's own identity, and say where its step finds them: /var/cache/proxmox-gpu-stack/wheels/<digest>/.
 *
 * @param lock name of the folder in `environments/`
 */
export function wheelDigests(lock: string, projectDirectory: string, choice: BuildChoice): string[] {
  return digestedRecipes(lock, projectDirectory, choice).map(({ digest }) => digest);
}
