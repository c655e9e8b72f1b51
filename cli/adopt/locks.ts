/** Which recorded environment is most like one that somebody made by hand. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { normalizedName, parseLock } from "../../config/environment/requirements";
import { lockNames } from "../../config/lock";

/** Packages that decide how a model is served: their differences are told first. */
const WEIGHTY = [
  "sglang",
  "torch",
  "transformers",
  "sglang-kernel",
  "sgl-kernel",
  "flashinfer-python",
  "xgrammar",
];

export interface Difference {
  readonly name: string;
  /** Version in the container; undefined: not installed. */
  readonly found: string | undefined;
  /** Version in the lock; undefined: not in it. */
  readonly locked: string | undefined;
}

export interface NearestLock {
  /** Folder in environments/. */
  readonly name: string;
  /** Weighty ones first, then by name. */
  readonly differences: readonly Difference[];
}

/** Tools of the environment itself: no lock needs to hold them. */
const TOOLS = ["pip", "setuptools", "wheel", "uv"];

export type Versions = ReadonlyMap<string, string>;

/** From `NAME==VERSION` texts, names as indexes spell them. */
export function versionsOf(packages: readonly string[]): Versions {
  return new Map(
    packages.map((text) => {
      const [name = "", version = ""] = text.split("==");
      return [normalizedName(name), version];
    }),
  );
}

function differencesOf(found: Versions, locked: Versions): Difference[] {
  const rank = (name: string) => (WEIGHTY.includes(name) ? WEIGHTY.indexOf(name) : WEIGHTY.length);
  return [...new Set([...found.keys(), ...locked.keys()])]
    .filter((name) => !TOOLS.includes(name) && found.get(name) !== locked.get(name))
    .map((name) => ({ name, found: found.get(name), locked: locked.get(name) }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

/** How many of the packages that decide are the same. */
function agreement(found: Versions, locked: Versions): number {
  return WEIGHTY.filter((name) => found.has(name) && found.get(name) === locked.get(name)).length;
}

/** The lock that agrees in most of what decides, then with the fewest differences; undefined when the project has none. */
export function nearestLock(found: Versions, locks: ReadonlyMap<string, Versions>): NearestLock | undefined {
  const [nearest] = [...locks]
    .map(([name, locked]) => ({
      name,
      differences: differencesOf(found, locked),
      agreement: agreement(found, locked),
    }))
    .sort(
      (a, b) =>
        b.agreement - a.agreement ||
        a.differences.length - b.differences.length ||
        a.name.localeCompare(b.name),
    );
  return nearest === undefined ? undefined : { name: nearest.name, differences: nearest.differences };
}

/** What the project's locks hold, by the names of their folders. */
export function projectLocks(projectDirectory: string): Map<string, Versions> {
  return new Map(
    lockNames(projectDirectory).flatMap((name) => {
      const file = path.join(projectDirectory, "environments", name, "requirements.lock");
      if (!existsSync(file)) return [];
      const packages = parseLock(readFileSync(file, "utf8")).packages;
      return [[name, new Map(packages.map((entry) => [entry.name, entry.version]))] as const];
    }),
  );
}

/** Differences for a person: versions that differ and weighty packages spelt out, the rest counted. */
export function differenceText(differences: readonly Difference[], most = 8): string {
  if (differences.length === 0) return "the same packages";
  const isTold = ({ name, found, locked }: Difference) =>
    WEIGHTY.includes(name) || (found !== undefined && locked !== undefined);
  const told = differences.filter(isTold).slice(0, most);
  const rest = differences.filter((difference) => !told.includes(difference));
  const changed = rest.filter(isTold).length;
  const added = rest.filter(({ found }) => found === undefined).length;
  const gone = rest.filter(({ locked }) => locked === undefined).length;
  return [
    ...told.map(({ name, found, locked }) => `${name} ${found ?? "missing"} -> ${locked ?? "none"}`),
    ...(changed > 0 ? [`${changed} more with another version`] : []),
    ...(added > 0 ? [`${added} only in the lock`] : []),
    ...(gone > 0 ? [`${gone} only in what was made by hand`] : []),
  ].join(", ");
}
