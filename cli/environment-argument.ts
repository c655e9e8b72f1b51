import { PROJECT_DIRECTORY } from "../config/load";
import { lockNames } from "../config/lock";
import { listed, nearest } from "../config/suggest";
import { UsageError } from "./exit-codes";

/**
 * The folders of environments/ that NAME… mean; no name: all of them.
 *
 * @throws UsageError when there is no such folder
 */
export function environmentNames(names: readonly string[], projectDirectory = PROJECT_DIRECTORY): string[] {
  const known = lockNames(projectDirectory);
  for (const name of names) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    throw new UsageError(`there is no environments/${name}: write one of ${listed(known)}${hint}`);
  }
  return names.length > 0 ? [...names] : known;
}
