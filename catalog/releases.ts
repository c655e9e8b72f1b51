/** The SGLang releases that the catalog holds, read from the files that `./stack catalog add-release` writes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compare } from "@renovatebot/pep440";
import { isNewer, type Build } from "./versions";

/** One command-line flag as the release's own parser declares it; what is missing is the usual. */
export interface Flag {
  /** Canonical spelling, the one that plans emit: `--tp-size`. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** Name in /server_info where it is not the flag's own. */
  readonly dest?: string;
  /** argparse action; absent: store one value. */
  readonly action?: string;
  /** Name of the conversion: int, float, str, json_list_type … */
  readonly type?: string;
  readonly nargs?: number | "+" | "*" | "?";
  readonly choices?: readonly (string | number)[];
  readonly default?: unknown;
  readonly required?: boolean;
  /** The release itself calls it deprecated. */
  readonly deprecated?: boolean;
}

/** What the catalog knows about a release. */
export interface Release {
  readonly version: string;
  /** SHA-256 of the wheel it was read from. */
  readonly wheelSha256: string;
  /** PEP 440 specifier of the Python versions. */
  readonly requiresPython: string;
  /** Its requirements on a Linux x86_64 server: normalised package name to specifier ("" for none). */
  readonly pins: Readonly<Record<string, string>>;
  /** Every SGLANG_… and SGL_… name that its Python files mention. */
  readonly environment: readonly string[];
  /** Paths of the HTTP server. */
  readonly endpoints: readonly string[];
  readonly flags: readonly Flag[];
}

const FOLDER = join(__dirname, "releases");
const loaded = new Map<string, Release>();

/** Version numbers of the catalog's releases, oldest first. */
export const RELEASES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => /^\d.*\.json$/.test(name))
  .map((name) => name.replace(/\.json$/, ""))
  .sort(compare);

/** The newest release of the catalog. */
export const NEWEST_RELEASE = RELEASES.at(-1) as string;

/** A release's data. Throws when the catalog does not hold it. */
export function loadRelease(version: string): Release {
  const known = loaded.get(version);
  if (known !== undefined) return known;
  if (!RELEASES.includes(version)) throw new Error(`release ${version} is not in the catalog`);
  const release = JSON.parse(readFileSync(join(FOLDER, `${version}.json`), "utf8")) as Release;
  loaded.set(version, release);
  return release;
}

/** How well the catalog knows a build. */
export type Knowledge = "exact" | "development" | "newer" | "unknown";

/** Whether the catalog holds the build, has to take the newest release for it, or does not know it. */
export function knowledgeOf(build: Build): Knowledge {
  if (build.kind === "commit") return "development";
  if (RELEASES.includes(build.version)) return "exact";
  return isNewer(build.version, NEWEST_RELEASE) ? "newer" : "unknown";
}

/**
 * The release whose flags, pins and environment describe the build: itself; for a development build the release
 * before it; the newest for one that is newer than the catalog.
 *
 * @returns undefined for a release that the catalog does not know
 */
export function releaseOf(build: Build): Release | undefined {
  switch (knowledgeOf(build)) {
    case "exact":
      return loadRelease((build as { version: string }).version);
    case "development":
      return loadRelease((build as { build: { after: string } }).build.after);
    case "newer":
      return loadRelease(NEWEST_RELEASE);
    case "unknown":
      return undefined;
  }
}
