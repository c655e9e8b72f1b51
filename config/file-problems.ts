/** Problems of the files beside a stack file: environments/<name>/pyproject.toml, wheelhouse.json, wheels.toml. */
import type { z } from "zod";
import { allowedBy, valueAt } from "./issues";
import { shown, type Problem } from "./problems";
import { visible } from "./visible";

/** A file that is missing, or that cannot be parsed. */
export function unreadable(place: string, message: string, fix: string): Problem {
  return { id: "unreadable-file", severity: "error", path: place, message, fix };
}

/**
 * The problems behind zod's issues with one file.
 *
 * @param input the value that was parsed
 * @param place path of the file from the project
 * @param guide the page that lists the file's keys
 * @param afterwards what follows a correction, to complete "correct it in …"
 */
export function problemsOfFile(
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  place: string,
  guide: string,
  afterwards = "",
): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    const unknown = issue.code === "unrecognized_keys";
    const keys = unknown ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    return keys.map((key) => {
      const written = shown(valueAt(input, key));
      return {
        id: unknown ? "unknown-key" : "wrong-value",
        severity: "error",
        path: `${place}: ${key.map((part) => visible(String(part))).join(".")}`,
        ...(written === undefined ? {} : { value: written }),
        message: unknown ? "no such key" : `must be ${allowedBy(issue)}`,
        fix: unknown ? `take the key out; ${guide} lists the keys` : `correct it in ${place}${afterwards}`,
      };
    });
  });
}
