/** SGLang builds and where a rule's range puts them: releases by PEP 440, development builds by date. */
import { gt, gte, lt, valid } from "@renovatebot/pep440";
import { DEVELOPMENT_BUILDS } from "./builds";
import type { DevelopmentBuild } from "./types";

/** A release of SGLang, or a commit of its main branch. */
export type Build =
  | { readonly kind: "release"; readonly version: string }
  | { readonly kind: "commit"; readonly build: DevelopmentBuild };

/**
 * A range of builds. Both ends are a release ("0.5.14") or a date on the main branch ("2026-03-17"); `from` is
 * included, `before` is not; an end that is missing is open.
 */
export interface BuildRange {
  readonly from?: string;
  readonly before?: string;
}

/**
 * Days on which releases were cut, oldest first: they place a release beside a date on the main branch. Of
 * 0.5.10rc0 only the month is known, and that it holds the change of the 17th (no release has the text before it).
 */
const RELEASE_DATES: Readonly<Record<string, string>> = {
  "0.5.9": "2026-02-23",
  "0.5.10rc0": "2026-03-17",
  "0.5.10": "2026-04-05",
  "0.5.10.post1": "2026-04-08",
  "0.5.11": "2026-05-05",
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const COMMIT = /^[0-9a-f]{7,40}$/;

/**
 * The build that a stack file's `release` names: a release number, or a commit or name of a development build.
 *
 * @returns undefined when it is neither a version nor a development build of the catalog
 */
export function parseBuild(text: string): Build | undefined {
  const build = DEVELOPMENT_BUILDS.find(
    ({ name, commit }) =>
      name === text ||
      (commit !== undefined && COMMIT.test(text) && (text.startsWith(commit) || commit.startsWith(text))),
  );
  if (build !== undefined) return { kind: "commit", build };
  return valid(text) === null || COMMIT.test(text) ? undefined : { kind: "release", version: text };
}

/** The build as an owner writes it. */
export function buildName(build: Build): string {
  return build.kind === "release" ? build.version : build.build.name;
}

/** Whether the build is at `point` or later. */
function reaches(build: Build, point: string): boolean {
  if (build.kind === "commit") {
    return DATE.test(point) ? build.build.date >= point : gte(build.build.after, point);
  }
  if (!DATE.test(point)) return gte(build.version, point);
  const known = Object.entries(RELEASE_DATES).filter(([version]) => gte(build.version, version));
  const date = known.at(-1)?.[1];
  return date !== undefined && date >= point;
}

/** Whether the build lies in the range; no range: always. */
export function inRange(build: Build, range: BuildRange | undefined): boolean {
  if (range?.from !== undefined && !reaches(build, range.from)) return false;
  return range?.before === undefined || !reaches(build, range.before);
}

/** The range in words, for explanations. */
export function describeRange(range: BuildRange | undefined): string {
  if (range?.from !== undefined && range.before !== undefined)
    return `${range.from} up to before ${range.before}`;
  if (range?.from !== undefined) return `${range.from} and later`;
  return range?.before === undefined ? "all releases" : `before ${range.before}`;
}

/** Whether release `a` is newer than release `b`. */
export function isNewer(a: string, b: string): boolean {
  return gt(a, b);
}

/** Whether release `a` is older than release `b`. */
export function isOlder(a: string, b: string): boolean {
  return lt(a, b);
}
