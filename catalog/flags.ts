/** Command lines, read as the release's own argument parser reads them. */
import { closest, distance } from "fastest-levenshtein";
import { loadRelease, RELEASES, type Flag, type Release } from "./releases";
import { isOlder } from "./versions";

/** What is wrong with an argument. */
export interface ArgumentProblem {
  readonly kind:
    | "removed"
    | "unknown"
    | "ambiguous"
    | "removed-choice"
    | "choice"
    | "value"
    | "deprecated"
    | "abbreviation";
  /** The argument as written. */
  readonly argument: string;
  readonly message: string;
  readonly fix: string;
}

/** A command line, read. */
export interface Arguments {
  /** Values by the flag's canonical name; a flag without a value has `[]`. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly problems: readonly ArgumentProblem[];
}

/** Flags that went away, and what replaces them where it is another flag. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  "--mamba-scheduler-strategy": "--mamba-radix-cache-strategy",
  "--cuda-graph-max-bs": "--cuda-graph-max-bs-decode",
  "--cuda-graph-bs": "--cuda-graph-bs-decode",
  "--disable-piecewise-cuda-graph": "--disable-prefill-cuda-graph",
  "--enable-flashinfer-allreduce-fusion": "--flashinfer-allreduce-fusion-backend",
};

/** Choices that argparse does not enforce in the release itself, by flag: a wrong one fails long after the start. */
const LATE_CHOICES: Readonly<Record<string, string>> = { "--speculative-algorithm": "0.5.11" };

const VALUELESS_ACTIONS = new Set([
  "store_true",
  "store_false",
  "store_const",
  "boolean_optional",
  "DeprecatedAction",
  "DeprecatedStoreTrueAction",
  "DeprecatedStoreConstAction",
]);

/** Whether the flag stands alone on a command line. */
export function isValueless(flag: Flag): boolean {
  return VALUELESS_ACTIONS.has(flag.action ?? "store");
}

function namesOf(flag: Flag): readonly string[] {
  return [flag.name, ...(flag.aliases ?? [])];
}

/** The flag with that name or alias, spelt out. */
export function findFlag(release: Release, name: string): Flag | undefined {
  return release.flags.find((flag) => namesOf(flag).includes(name));
}

/** All names that `name` abbreviates, as argparse completes them. */
function completions(release: Release, name: string): string[] {
  return release.flags.flatMap(namesOf).filter((candidate) => candidate.startsWith(name));
}

function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const candidate = closest(word, [...candidates]);
  return distance(word, candidate) <= Math.max(2, Math.floor(word.length / 4)) ? candidate : undefined;
}

/** The newest release before this one that had what `has` looks for. */
function lastWith(release: Release, has: (older: Release) => boolean): string | undefined {
  return RELEASES.filter((version) => isOlder(version, release.version))
    .reverse()
    .find((version) => has(loadRelease(version)));
}

function unknownFlag(release: Release, argument: string): ArgumentProblem {
  const last = lastWith(release, (older) => findFlag(older, argument) !== undefined);
  const candidates = completions(release, argument);
  if (last !== undefined) {
    const replacement = REPLACEMENTS[argument];
    const known = replacement !== undefined && findFlag(release, replacement) !== undefined;
    const words = candidates.length > 1 ? `is ambiguous (${candidates.join(", ")})` : "is unrecognized";
    return {
      kind: "removed",
      argument,
      message: `${argument} was last a flag in ${last}; in ${release.version} it ${words} and the server exits with 2`,
      fix: known ? `use ${replacement}` : "take it out",
    };
  }
  const suggestion = candidates[0] ?? nearest(argument, release.flags.flatMap(namesOf));
  return {
    kind: candidates.length > 1 ? "ambiguous" : "unknown",
    argument,
    message:
      candidates.length > 1
        ? `${argument} abbreviates ${candidates.length} flags of SGLang ${release.version}`
        : `${argument} is not a flag of SGLang ${release.version}`,
    fix:
      candidates.length > 1
        ? `spell it out: ${candidates.slice(0, 5).join(", ")}${candidates.length > 5 ? " …" : ""}`
        : suggestion === undefined
          ? "take it out"
          : `did you mean ${suggestion}?`,
  };
}

/** The choices of a flag: the parser's, or those of the last release whose parser enforced them. */
export function choicesOf(release: Release, flag: Flag): readonly string[] | undefined {
  const enforcedUntil = LATE_CHOICES[flag.name];
  if (flag.choices !== undefined || enforcedUntil === undefined) return flag.choices?.map(String);
  const choices = findFlag(loadRelease(enforcedUntil), flag.name)?.choices?.map(String) ?? [];
  return isOlder(release.version, "0.5.16") ? choices : [...choices, "DSPARK"];
}

function wrongValue(release: Release, flag: Flag, value: string): ArgumentProblem | undefined {
  const argument = `${flag.name} ${value}`;
  const choices = choicesOf(release, flag);
  if (choices !== undefined && !choices.includes(value)) {
    const last = lastWith(
      release,
      (older) => findFlag(older, flag.name)?.choices?.map(String).includes(value) === true,
    );
    const suggestion = nearest(value, choices);
    return {
      kind: last === undefined ? "choice" : "removed-choice",
      argument,
      message:
        last === undefined
          ? `${flag.name} cannot be "${value}" in SGLang ${release.version}`
          : `${flag.name} could last be "${value}" in ${last}; ${release.version} refuses it`,
      fix: `use one of ${choices.join(", ")}${suggestion === undefined ? "" : `; did you mean ${suggestion}?`}`,
    };
  }
  const wrongNumber =
    (flag.type === "int" && !/^[+-]?\d+$/.test(value)) ||
    (flag.type === "float" && (value.trim() === "" || Number.isNaN(Number(value))));
  if (!wrongNumber) return undefined;
  const kind = flag.type === "int" ? "a whole number" : "a number";
  return {
    kind: "value",
    argument,
    message: `${flag.name} must be ${kind}, not "${value}"`,
    fix: `write ${kind}`,
  };
}

function valueCount(flag: Flag, following: readonly string[]): number {
  if (isValueless(flag)) return 0;
  if (flag.nargs === undefined) return Math.min(1, following.length);
  if (flag.nargs === "?") return Math.min(1, following.length);
  return typeof flag.nargs === "number" ? Math.min(flag.nargs, following.length) : following.length;
}

/** Whether an argument starts a flag: a dash that no number follows. */
function isFlag(argument: string): boolean {
  return argument.startsWith("-") && !/^-\d/.test(argument) && argument !== "-";
}

/** The flag that an argument means: spelt out, by alias, or by an abbreviation that only it has. */
function resolve(release: Release, name: string): Flag | undefined {
  const exact = findFlag(release, name);
  if (exact !== undefined || !name.startsWith("--")) return exact;
  const [only, ...others] = [...new Set(completions(release, name).map((full) => findFlag(release, full)))];
  return others.length === 0 ? only : undefined;
}

/**
 * Reads a command line as the release does, and says what the release would refuse.
 *
 * @param release whose flags count
 * @param argv arguments after `-m sglang.launch_server`
 */
export function readArguments(release: Release, argv: readonly string[]): Arguments {
  const values = new Map<string, readonly string[]>();
  const problems: ArgumentProblem[] = [];
  let position = 0;
  while (position < argv.length) {
    const written = argv[position] as string;
    position += 1;
    if (!isFlag(written)) {
      const message = `"${written}" belongs to no flag`;
      problems.push({
        kind: "unknown",
        argument: written,
        message,
        fix: "write the flag before it, or take it out",
      });
      continue;
    }
    const equals = written.startsWith("--") ? written.indexOf("=") : -1;
    const name = equals < 0 ? written : written.slice(0, equals);
    const rest = argv.slice(position);
    const end = rest.findIndex(isFlag);
    const following = equals < 0 ? rest.slice(0, end < 0 ? rest.length : end) : [written.slice(equals + 1)];
    const flag = resolve(release, name);
    if (flag === undefined) {
      problems.push(unknownFlag(release, name));
      if (equals < 0) position += following.length;
      continue;
    }
    const taken = following.slice(0, valueCount(flag, following));
    if (equals < 0) position += taken.length;
    values.set(flag.name, taken);
    if (!isValueless(flag) && taken.length === 0 && flag.nargs !== "*" && flag.nargs !== "?") {
      const message = `${flag.name} needs a value`;
      problems.push({ kind: "value", argument: flag.name, message, fix: `write ${flag.name} VALUE` });
    }
    problems.push(...taken.flatMap((value) => wrongValue(release, flag, value) ?? []));
    if (!namesOf(flag).includes(name)) {
      const message = `${name} abbreviates ${flag.name}, until a later release has two flags that begin so`;
      problems.push({ kind: "abbreviation", argument: name, message, fix: `write ${flag.name}` });
    }
    if (flag.deprecated === true) {
      const replacement = REPLACEMENTS[flag.name];
      const known = replacement !== undefined && findFlag(release, replacement) !== undefined;
      problems.push({
        kind: "deprecated",
        argument: flag.name,
        message: `${flag.name} is deprecated in SGLang ${release.version}`,
        fix: known ? `use ${replacement}` : "take it out",
      });
    }
  }
  return { values, problems };
}
