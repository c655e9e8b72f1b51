/** Checks of the locks that environments name. */
import { readEnvironmentFolder } from "./environment-folder";
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
    const { missing, problems } = readEnvironmentFolder(environment.lock, projectDirectory);
    // A lock alone can be deployed: its folder needs no pins.
    const mistakes = problems.filter(({ id }) => id !== "missing-file");
    if (lock.lockExists) return mistakes;
    const reason =
      missing.length === 0
        ? " yet"
        : `; missing.txt says what it lacks:${missing.map((line) => `\n  ${line}`).join("")}`;
    return [
      ...mistakes,
      {
        ...problemAt(
          "lock-missing",
          path,
          environment.lock,
          `environments/${environment.lock}/ has no requirements.lock${reason}`,
          missing.length === 0
            ? `./stack pin ${environment.lock}`
            : `bring what is missing (or pin other versions in pyproject.toml), then ./stack pin ${environment.lock}`,
        ),
        severity: "warning" as const,
        blocksUp: true,
      },
    ];
  });
}
