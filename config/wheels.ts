/**
 * Wheels that an environment builds from source: `environments/<name>/wheels.toml`, `build.lock` and `patches/<package>/`.
 *
 * Nothing is thrown: everything that is wrong is a problem with file, key, value and fix.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, TomlError } from "smol-toml";
import { z } from "zod";
import { problemsOfFile, unreadable } from "./file-problems";
import type { Problem } from "./problems";
import { fileUrl, freeText, text, textOrUnknown, UNKNOWN } from "./schema/fields";
import { visible } from "./visible";

/** The page that lists the keys of wheels.toml. */
const GUIDE = "docs/how-to/build-a-kernel-wheel.md";

const sha256 = textOrUnknown(/^[0-9a-f]{64}$/, "64 lower-case hexadecimal digits");
const inside = text(
  /^(?!\.\.?(\/|$))[A-Za-z0-9._+-]+(\/(?!\.\.?(\/|$))[A-Za-z0-9._+-]+)*$/,
  "a folder inside the archive, without .. and without a slash at either end",
);
const variable = text(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of a variable");
const value = freeText("a text of one line");
// They travel in CMAKE_ARGS, which build backends split at spaces.
const setting = text(/^\S*$/, "a text without spaces", 4096);

const archive = { url: fileUrl, sha256 };

const vendored = z.strictObject({
  /** Name in the project's FetchContent_Declare; the sources are given as FETCHCONTENT_SOURCE_DIR_<NAME>. */
  name: text(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "the name of a FetchContent_Declare"),
  /** For what is a git submodule of another one, which archives leave out: `<name of that one>/<folder in it>`. */
  into: inside.optional(),
  ...archive,
});

const wheel = z.strictObject({
  package: text(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "a package name in lower case with hyphens"),
  /** Version that the source itself states. The wheel gets a local version behind it. */
  version: text(/^[0-9]+(\.[0-9]+)*((a|b|rc|\.post|\.dev)[0-9]+)*$/, "a version such as 0.3.21"),
  source: z.strictObject({
    ...archive,
    /** Folder with pyproject.toml, below the archive's single top folder. */
    folder: inside.optional(),
  }),
  vendored: z.array(vendored).default([]),
  /** CUDA version whose toolkit compiles it, "13.0"; left out for a wheel without CUDA code. */
  cuda: text(/^\d{2}\.\d{1,2}$/, 'a CUDA version in quotes, "13.0"').optional(),
  /** Variables of the build. `{cuda}` is the toolkit, `{source}` the unpacked archive's top folder. */
  environment: z.record(variable, value).default({}),
  /** CMake settings, -D<NAME>=<value>; the same two words in braces are filled in. */
  cmake: z.record(variable, setting).default({}),
  /** Code that the wheel's libraries must hold. */
  architectures: z.array(text(/^sm_\d+[af]?$/, "an architecture such as sm_86")).default([]),
  /** Modules that must be importable with the environment's torch. */
  imports: z.array(text(/^[A-Za-z_][A-Za-z0-9_.]*$/, "the name of a Python module")).min(1, {
    error: "at least one module: a wheel that was never imported counts for nothing",
  }),
});

const wheelsFile = z.strictObject({
  wheel: z.array(wheel).min(1, { error: "at least one [[wheel]]" }),
});

export type WheelSource = z.output<typeof wheel>["source"];
export type VendoredSource = z.output<typeof vendored>;

export interface Patch {
  /** File name; patches are applied in the order of their names. */
  readonly name: string;
  readonly text: string;
}

/** One wheel and how it is built. */
export interface WheelRecipe extends z.output<typeof wheel> {
  readonly patches: readonly Patch[];
}

export interface WheelRecipes {
  readonly recipes: readonly WheelRecipe[];
  /** Hashed lock of CMake, ninja and the build backend; empty when there is none. */
  readonly buildLock: string;
  readonly problems: readonly Problem[];
}

/** Every archive that a recipe downloads. */
export function archivesOf(recipe: WheelRecipe): { what: string; url: string; sha256: string }[] {
  return [
    { what: `source of ${recipe.package}`, ...recipe.source },
    ...recipe.vendored.map(({ name, ...from }) => ({ what: name, ...from })),
  ].map(({ what, url, sha256: sum }) => ({ what, url, sha256: sum }));
}

/** The patches of one package, in order. Files that are no patches are a mistake: they would be left out unseen. */
function readPatches(folder: string, place: string): { patches: Patch[]; problems: Problem[] } {
  if (!existsSync(folder)) return { patches: [], problems: [] };
  const names = readdirSync(folder).sort();
  const wrong = names.filter((name) => !/^\d\d-[a-z0-9-]+\.patch$/.test(name));
  return {
    patches: names
      .filter((name) => !wrong.includes(name))
      .map((name) => ({ name, text: readFileSync(path.join(folder, name), "utf8") })),
    problems: wrong.map((name) => ({
      id: "wrong-patch-name",
      severity: "error",
      path: `${place}/${visible(name)}`,
      message: "is not named like a patch, and would be left out",
      fix: "name it NN-what-it-does.patch (two digits decide the order), or move it away",
    })),
  };
}

/** Problems that no single value of the recipes shows. */
function recipeProblems(recipes: readonly WheelRecipe[], place: string): Problem[] {
  const twice = recipes.filter((recipe, index) =>
    recipes.slice(0, index).some((earlier) => earlier.package === recipe.package),
  );
  const withoutCuda = recipes.filter(
    ({ cuda, architectures }) => cuda === undefined && architectures.length > 0,
  );
  return [
    ...twice.map((recipe) => ({
      id: "duplicate-wheel",
      severity: "error" as const,
      path: `${place}: wheel`,
      value: `"${recipe.package}"`,
      message: "is built twice",
      fix: "keep one [[wheel]] of each package",
    })),
    ...withoutCuda.map((recipe) => ({
      id: "wheel-without-cuda",
      severity: "error" as const,
      path: `${place}: wheel ${recipe.package}`,
      message: `must hold code for ${recipe.architectures.join(", ")}, but names no CUDA version to compile it with`,
      fix: 'add cuda = "13.0" (or another version), or take architectures out',
    })),
  ];
}

/** What was never recorded: previews show it, `up` is refused. */
function unknownArchives(recipes: readonly WheelRecipe[], place: string): Problem[] {
  return recipes.flatMap((recipe) =>
    archivesOf(recipe)
      .filter((from) => from.sha256 === UNKNOWN)
      .map(({ what, url }) => ({
        id: "unknown-pin",
        severity: "warning" as const,
        blocksUp: true,
        path: `${place}: ${recipe.package}: sha256 of ${what}`,
        value: UNKNOWN,
        message: "was not recorded: a preview is possible, `up` is refused until it is filled in",
        fix: `download ${url}, look at it, and take \`sha256sum\` of the file`,
      })),
  );
}

const NOTHING: WheelRecipes = { recipes: [], buildLock: "", problems: [] };

/**
 * Reads what `environments/<name>/` builds from source; nothing when it has no wheels.toml.
 *
 * @param name the folder's name
 * @param projectDirectory the folder that holds `environments/`
 */
export function readWheelRecipes(name: string, projectDirectory: string): WheelRecipes {
  const folder = path.join(projectDirectory, "environments", name);
  const file = path.join(folder, "wheels.toml");
  if (!existsSync(file)) return NOTHING;
  const place = `environments/${name}/wheels.toml`;
  let input: unknown;
  try {
    input = parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [message = "no TOML"] = error.message.split("\n");
    return {
      ...NOTHING,
      problems: [
        unreadable(place, `line ${error.line}: ${message}`, `correct line ${error.line} of ${place}`),
      ],
    };
  }
  const parsed = wheelsFile.safeParse(input);
  if (!parsed.success)
    return { ...NOTHING, problems: problemsOfFile(parsed.error.issues, input, place, GUIDE) };
  const patched = parsed.data.wheel.map((entry) => ({
    entry,
    ...readPatches(
      path.join(folder, "patches", entry.package),
      `environments/${name}/patches/${entry.package}`,
    ),
  }));
  const recipes = patched.map(({ entry, patches }) => ({ ...entry, patches }));
  const lock = path.join(folder, "build.lock");
  const buildLock = existsSync(lock) ? readFileSync(lock, "utf8") : "";
  return {
    recipes,
    buildLock,
    problems: [
      ...patched.flatMap(({ problems }) => problems),
      ...recipeProblems(recipes, place),
      ...unknownArchives(recipes, place),
      ...(buildLock === ""
        ? [
            unreadable(
              `environments/${name}/build.lock`,
              "is missing: it names CMake, ninja and the build backend with their hashes",
              "docs/how-to/build-a-kernel-wheel.md says how it is made",
            ),
          ]
        : []),
    ],
  };
}
