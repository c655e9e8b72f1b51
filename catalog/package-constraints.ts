/** What the catalog says about the packages beside a release of SGLang. */
import { satisfies } from "@renovatebot/pep440";
import { PACKAGE_CONSTRAINTS } from "./builds";
import { loadRelease, RELEASES } from "./releases";
import type { PackageConstraint } from "./types";

/** One constraint on a package, and who states it. */
export interface PinConstraint {
  /** Normalised name. */
  readonly package: string;
  /** PEP 440 specifier. */
  readonly specifier: string;
  /** Who states it, for messages: a release, or the id of a known breakage. */
  readonly origin: string;
}

/** Whether a version is within a specifier; a local version (+cu130) and a pre-release count as their number. */
export function holds(version: string, specifier: string): boolean {
  const plain = specifier.includes("+") ? version : version.replace(/\+.*$/, "");
  return specifier === "" || satisfies(plain, specifier, { prereleases: true });
}

/** The known breakages whose condition is met, by normalised name and version of the packages. */
export function knownBreakages(packages: Readonly<Record<string, string>>): readonly PackageConstraint[] {
  return PACKAGE_CONSTRAINTS.filter(({ when }) => {
    const version = packages[when.package];
    return version !== undefined && holds(version, when.versions);
  });
}

/** The release's own pins; none for a release that the catalog does not hold. */
export function releasePins(release: string | undefined): PinConstraint[] {
  if (release === undefined || !RELEASES.includes(release)) return [];
  return Object.entries(loadRelease(release).pins).flatMap(([name, pin]) => {
    const specifier = pin.replace(/^\[[^\]]*\]/, "");
    return specifier === "" ? [] : [{ package: name, specifier, origin: `sglang ${release}` }];
  });
}

/**
 * Everything that the catalog asks of a resolution: the release's pins, and the known breakages whose condition is met.
 *
 * @param release the SGLang release; undefined: a development build, which has no pins in the catalog
 * @param packages what was resolved so far, normalised name to version
 * @param overridden packages that the owner overrides by name: nothing is asked of them
 */
export function constraintsFor(
  release: string | undefined,
  packages: Readonly<Record<string, string>>,
  overridden: readonly string[],
): PinConstraint[] {
  const breakages = knownBreakages(packages).map(({ id, package: name, versions }) => ({
    package: name,
    specifier: versions,
    origin: id,
  }));
  return [...releasePins(release), ...breakages].filter(
    (constraint) => !overridden.includes(constraint.package),
  );
}
