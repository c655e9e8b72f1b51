/**
 * What `environments/<name>/` holds: pins, lock, list of files, and what is missing for a lock.
 *
 * Nothing is thrown: everything that is wrong is a problem with file, key, value and fix.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { parseLock, type RequirementsLock } from "./environment/requirements";
import {
  pyprojectSchema,
  wheelhouseSchema,
  type PinnedPython,
  type Pyproject,
  type SmokeTest,
  type UvSettings,
  type WheelhouseFile,
} from "./environment/schema";
import { problemsOfFile, unreadable } from "./file-problems";
import type { Problem } from "./problems";

export type { LockedPackage, RequirementsLock } from "./environment/requirements";
export type { PinnedPython, SmokeTest, UvSettings, WheelhouseFile } from "./environment/schema";

/** The page that lists the keys of these files. */
const GUIDE = "docs/how-to/pin-an-environment.md";

export interface EnvironmentFolder {
  readonly name: string;
  /** Absolute path of the folder. */
  readonly folder: string;
  /** Requirements of `[project]`, as written. */
  readonly dependencies: readonly string[];
  /** Python's minor version, "3.11": of the pinned interpreter, or the oldest of `requires-python`. */
  readonly pythonVersion: string;
  /** The pinned interpreter; undefined: the container's own Python. */
  readonly python: PinnedPython | undefined;
  readonly smokeTest: SmokeTest;
  /** Debian packages that the environment needs in its container. */
  readonly systemPackages: readonly string[];
  /** `[tool.uv]`. */
  readonly uv: UvSettings;
  /** undefined: there is no requirements.lock. */
  readonly lock: RequirementsLock | undefined;
  /** Files of wheelhouse.json; undefined: there is none. */
  readonly files: readonly WheelhouseFile[] | undefined;
  /** Lines of missing.txt: what a lock would need and nobody can get. */
  readonly missing: readonly string[];
  readonly problems: readonly Problem[];
}

function readText(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Checks one parsed file. `place` is its path from the project, for messages. */
function checked<T>(schema: z.ZodType<T>, value: unknown, place: string): { data?: T; problems: Problem[] } {
  const result = schema.safeParse(value);
  if (result.success) return { data: result.data, problems: [] };
  return { problems: problemsOfFile(result.error.issues, value, place, GUIDE, ", then run ./stack pin") };
}

function readPyproject(folder: string, place: string): { data?: Pyproject; problems: Problem[] } {
  const text = readText(path.join(folder, "pyproject.toml"));
  if (text === undefined) {
    return {
      problems: [
        {
          ...unreadable(place, "is missing", "write one; docs/how-to/pin-an-environment.md shows its keys"),
          id: "missing-file",
        },
      ],
    };
  }
  try {
    return checked(pyprojectSchema, parse(text), place);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [message = "no TOML"] = error.message.split("\n");
    return {
      problems: [
        unreadable(place, `line ${error.line}: ${message}`, `correct line ${error.line} of ${place}`),
      ],
    };
  }
}

/** Sources that name an index which nobody declares. */
function sourceProblems({ index, sources }: UvSettings, place: string): Problem[] {
  const names = index.map(({ name }) => name);
  return Object.entries(sources).flatMap(([packageName, source]) =>
    names.includes(source.index)
      ? []
      : [
          {
            id: "unknown-index",
            severity: "error" as const,
            path: `${place}: tool.uv.sources.${packageName}.index`,
            value: `"${source.index}"`,
            message: `must be the name of a [[tool.uv.index]]: ${names.join(", ") || "there is none"}`,
            fix: `add [[tool.uv.index]] with name = "${source.index}", url and explicit = true`,
          },
        ],
  );
}

function readFiles(
  folder: string,
  place: string,
): { data?: { files: WheelhouseFile[] }; problems: Problem[] } {
  const text = readText(path.join(folder, "wheelhouse.json"));
  if (text === undefined) return { problems: [] };
  try {
    return checked(wheelhouseSchema, JSON.parse(text), place);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { problems: [unreadable(place, error.message, "run ./stack pin, which writes it")] };
  }
}

/** Lines of missing.txt without comments. */
function readMissing(folder: string): string[] {
  const text = readText(path.join(folder, "missing.txt")) ?? "";
  return text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
}

const EMPTY = pyprojectSchema.parse({ project: { name: "", dependencies: [] } });

/**
 * Reads `environments/<name>/`.
 *
 * @param name the folder's name
 * @param projectDirectory the folder that holds `environments/`
 */
export function readEnvironmentFolder(name: string, projectDirectory: string): EnvironmentFolder {
  const folder = path.join(projectDirectory, "environments", name);
  const place = `environments/${name}`;
  const pyproject = readPyproject(folder, `${place}/pyproject.toml`);
  const wheelhouse = readFiles(folder, `${place}/wheelhouse.json`);
  const lockText = readText(path.join(folder, "requirements.lock"));
  const { project, tool } = pyproject.data ?? EMPTY;
  const own = tool["proxmox-gpu-stack"];
  const oldest = /3\.\d+/.exec(project["requires-python"])?.[0] as string;
  return {
    name,
    folder,
    dependencies: project.dependencies,
    pythonVersion: own.python?.version.replace(/\.\d+$/, "") ?? oldest,
    python: own.python,
    smokeTest: own["smoke-test"],
    systemPackages: own["system-packages"],
    uv: tool.uv,
    lock: lockText === undefined ? undefined : parseLock(lockText),
    files: wheelhouse.data?.files,
    missing: readMissing(folder),
    problems: [
      ...pyproject.problems,
      ...sourceProblems(tool.uv, `${place}/pyproject.toml`),
      ...wheelhouse.problems,
    ],
  };
}
