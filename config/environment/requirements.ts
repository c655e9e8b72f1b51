/** Requirements as text: names, and what a hashed lock holds. */

/** A package's name as indexes spell it (PEP 503). */
export function normalizedName(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}

export interface Requirement {
  /** Normalised name. */
  readonly name: string;
  readonly extras: readonly string[];
  /** PEP 440 specifier without spaces; empty: any version. */
  readonly specifier: string;
  /** Address of a direct reference, `git+https://…@commit`. */
  readonly url?: string;
  /** Environment marker after the semicolon. */
  readonly marker?: string;
}

const REQUIREMENT =
  /^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*(?:@\s*(\S+)|([^;]*))\s*(?:;\s*(.*))?$/;

/** A PEP 508 requirement; undefined when the text is none. */
export function parseRequirement(text: string): Requirement | undefined {
  const match = REQUIREMENT.exec(text.trim());
  if (match === null) return undefined;
  const [, name, extras, url, specifier, marker] = match;
  return {
    name: normalizedName(name as string),
    extras: (extras ?? "").split(",").flatMap((extra) => (extra.trim() === "" ? [] : [extra.trim()])),
    specifier: (specifier ?? "").replace(/[\s()]/g, ""),
    ...(url === undefined ? {} : { url }),
    ...(marker === undefined ? {} : { marker: marker.trim() }),
  };
}

/** One package of a lock. */
export interface LockedPackage {
  /** Normalised name. */
  readonly name: string;
  readonly version: string;
  /** SHA-256 of every file that is accepted. */
  readonly hashes: readonly string[];
}

export interface RequirementsLock {
  readonly text: string;
  /** Digest of what the lock was made from, from its header; undefined: made by hand or by an older version. */
  readonly inputs: string | undefined;
  readonly packages: readonly LockedPackage[];
}

/** Reads a hashed lock in requirements format. */
export function parseLock(text: string): RequirementsLock {
  const logical = text.replace(/\\\n/g, " ").split("\n");
  const packages = logical.flatMap((line) => {
    const match = /^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*==\s*([^\s;]+)/.exec(line);
    if (match === null) return [];
    const hashes = [...line.matchAll(/--hash=sha256:([0-9a-f]{64})/g)].map((hash) => hash[1] as string);
    return [{ name: normalizedName(match[1] as string), version: match[2] as string, hashes }];
  });
  return { text, inputs: /^# inputs: sha256:([0-9a-f]{64})$/m.exec(text)?.[1], packages };
}
