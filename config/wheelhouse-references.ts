/** Checks of the wheelhouse: what the locks must list for it, and the place where containers see it. */
import { readEnvironmentFolder } from "./environment-folder";
import type { Problem } from "./problems";
import { entriesOf, problemAt, type View } from "./references";
import { WHEELHOUSE_TARGET } from "./schema/wheelhouse";

/** An interpreter of another minor version than the stack file says would build another environment than it names. */
function interpreterProblems(view: View, projectDirectory: string): Problem[] {
  return entriesOf(view.environments).flatMap(([name, { lock, python }]) => {
    if (lock === undefined || python === undefined) return [];
    const pinned = readEnvironmentFolder(lock, projectDirectory).python;
    if (pinned === undefined || pinned.version.startsWith(`${python}.`)) return [];
    return [
      problemAt(
        "interpreter-version",
        ["environments", name, "python"],
        python,
        `environments/${lock} pins the interpreter ${pinned.version}`,
        `write python: "${pinned.version.split(".").slice(0, 2).join(".")}", or pin another interpreter`,
      ),
    ];
  });
}

function listProblems(view: View, projectDirectory: string): Problem[] {
  if (view.wheelhouse === undefined) return [];
  return entriesOf(view.environments).flatMap(([name, { lock }]) => {
    if (lock === undefined) return [];
    const folder = readEnvironmentFolder(lock, projectDirectory);
    // A lock that is not there is told by itself.
    if (folder.lock === undefined || folder.files !== undefined) return [];
    return [
      {
        ...problemAt(
          "wheelhouse-list-missing",
          ["environments", name, "lock"],
          lock,
          `environments/${lock}/ has no wheelhouse.json: nothing says which files the wheelhouse must hold`,
          `./stack pin ${lock}`,
        ),
        severity: "warning" as const,
        blocksUp: true,
      },
    ];
  });
}

function mountProblems(view: View): Problem[] {
  if (view.wheelhouse === undefined) return [];
  return entriesOf(view.containers).flatMap(([name, { mounts }]) =>
    (mounts ?? []).flatMap(({ target }, index) =>
      target !== WHEELHOUSE_TARGET
        ? []
        : [
            problemAt(
              "wheelhouse-mount",
              ["containers", name, "mounts", index, "target"],
              target,
              "is where the stack mounts its wheelhouse",
              "take this mount out, or give it another target",
            ),
          ],
    ),
  );
}

/** Problems of the wheelhouse, and of interpreters that environments pin. */
export function wheelhouseProblems(view: View, projectDirectory: string): Problem[] {
  return [
    ...mountProblems(view),
    ...interpreterProblems(view, projectDirectory),
    ...listProblems(view, projectDirectory),
  ];
}
