/** Checks of toolkits, and of what environments build from source with them. */
import type { Problem } from "./problems";
import { duplicates, entriesOf, problemAt, unknownName, type View } from "./references";
import { listed } from "./suggest";
import { readWheelRecipes } from "./wheels";

/** `13.0` of `13.0.2`. */
function series(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

function toolkitProblems(view: View): Problem[] {
  const toolkits = entriesOf(view.toolkits);
  const names = toolkits.map(([name]) => name);
  const versions = duplicates(
    toolkits.map(([name, toolkit]) => ({ value: toolkit.version, path: ["toolkits", name, "version"] })),
    (first) => ({
      id: "duplicate-toolkit",
      message: `is the version of ${first} too, and both would lie in the same place`,
      fix: "keep one of the two",
    }),
  );
  const references = entriesOf(view.environments).flatMap(([name, { toolkit }]) =>
    toolkit === undefined || names.includes(toolkit)
      ? []
      : [unknownName(["environments", name, "toolkit"], toolkit, "toolkits", names)],
  );
  return [...versions, ...references];
}

/** Wheels that need a compiler which the environment does not select. */
function compilerProblems(view: View, projectDirectory: string): Problem[] {
  return entriesOf(view.environments).flatMap(([name, { lock, toolkit }]) => {
    if (lock === undefined) return [];
    const path = ["environments", name, "toolkit"];
    const version = toolkit === undefined ? undefined : view.toolkits?.[toolkit]?.version;
    return readWheelRecipes(lock, projectDirectory).recipes.flatMap(({ package: wheel, cuda }) => {
      if (cuda === undefined || (version !== undefined && series(version) === cuda)) return [];
      const fitting = entriesOf(view.toolkits)
        .filter(([, other]) => other.version !== undefined && series(other.version) === cuda)
        .map(([other]) => other);
      const fix =
        fitting.length > 0
          ? `name a toolkit of CUDA ${cuda}: ${listed(fitting)}`
          : `add a toolkit of CUDA ${cuda} to toolkits and name it here`;
      if (toolkit === undefined) {
        return [
          problemAt(
            "toolkit-missing",
            path,
            undefined,
            `is missing: environments/${lock} compiles ${wheel} with CUDA ${cuda}`,
            fix,
          ),
        ];
      }
      if (version === undefined) return []; // an unknown name or a wrong version is told already
      return [
        problemAt(
          "toolkit-version",
          path,
          toolkit,
          `is CUDA ${version}, but environments/${lock} compiles ${wheel} with CUDA ${cuda}`,
          fix,
        ),
      ];
    });
  });
}

/** Problems of recipes; those of a folder that two environments name are told once. */
function recipeProblems(view: View, projectDirectory: string): Problem[] {
  const locks = new Set(entriesOf(view.environments).flatMap(([, { lock }]) => lock ?? []));
  return [...locks].flatMap((lock) => readWheelRecipes(lock, projectDirectory).problems);
}

/** Everything that is wrong with toolkits and with wheels that are built from source. */
export function wheelProblems(view: View, projectDirectory: string): Problem[] {
  return [
    ...toolkitProblems(view),
    ...compilerProblems(view, projectDirectory),
    ...recipeProblems(view, projectDirectory),
  ];
}
