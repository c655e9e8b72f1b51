/** Checks of the locks that environments name. */
import { lockNames, readLock } from "./lock";
import type { Problem } from "./problems";
import { entriesOf, problemAt, type View } from "./references";
import { listed, nearest } from "./suggest";

/** Problems of environments whose lock is not there. */
export function lockProblems(view: View, projectDirectory: string): Problem[] {
  return entriesOf(view.environments).flatMap(([name, environment]) => {
    if (environment.lock === undefined) return [];
    const lock = readLock(environment.lock, projectDirectory);
    const path = ["environments", name, "lock"];
    if (!lock.folderExists) {
      const names = lockNames(projectDirectory);
      const suggestion = nearest(environment.lock, names);
      return [
        problemAt(
          "unknown-lock",
          path,
          environment.lock,
          `must be a folder in environments/: ${listed(names)}`,
          suggestion === undefined ? `make environments/${environment.lock}/` : `did you mean ${suggestion}?`,
        ),
      ];
    }
    if (lock.lockExists) return [];
    return [
      {
        ...problemAt(
          "lock-missing",
          path,
          environment.lock,
          `environments/${environment.lock}/ has no requirements.lock yet`,
          `uv pip compile --generate-hashes environments/${environment.lock}/pyproject.toml -o environments/${environment.lock}/requirements.lock`,
        ),
        severity: "warning" as const,
        blocksUp: true,
      },
    ];
  });
}
