import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Problem } from "./problems";
import { UNKNOWN } from "./schema";

export interface Checksum {
  /** 64 hexadecimal digits, or `unknown`. */
  readonly sha256: string;
  readonly problem?: Problem;
}

const FILE_PREFIX = "file:";

/** The file name at the end of an address, without query and fragment. */
export function fileNameOf(url: string): string {
  return decodeURIComponent(url.replace(/[?#].*$/, "").replace(/^.*\//, ""));
}

/** Lines of sha256sum: 64 digits, a space, a space or `*`, the file name (with or without folders). */
function checksumIn(text: string, fileName: string): string | undefined {
  for (const line of text.split("\n")) {
    const match = /^([0-9a-f]{64}) [ *](.+)$/.exec(line.trim());
    if (match?.[2] !== undefined && path.posix.basename(match[2]) === fileName) return match[1];
  }
  return undefined;
}

/**
 * The checksum that a stack states: itself, or a line of a sha256sum file.
 *
 * A file that is not there leaves the checksum unknown, which previews accept and `up` refuses: a fresh clone has no
 * `.lab/` yet. A file without the line is an error: it will not appear by itself.
 *
 * @param stated 64 digits, `unknown`, or `file:PATH` relative to `projectDirectory`
 * @param url address whose file name chooses the line
 * @param where path of the value, for the problem
 */
export function resolveChecksum(
  stated: string,
  url: string,
  where: string,
  projectDirectory: string,
): Checksum {
  if (!stated.startsWith(FILE_PREFIX)) return { sha256: stated };
  const relative = stated.slice(FILE_PREFIX.length);
  const file = path.resolve(projectDirectory, relative);
  const fileName = fileNameOf(url);
  const fromLab = relative.startsWith(".lab/");
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) {
    const message = `${relative} is no file; it must hold the sha256sum line of ${fileName}`;
    const fix = `name the file: sha256sum ${fileName} >> FILE`;
    return {
      sha256: UNKNOWN,
      problem: { id: "checksum-file", severity: "error", path: where, value: `"${stated}"`, message, fix },
    };
  }
  if (found === undefined) {
    return {
      sha256: UNKNOWN,
      problem: {
        id: "checksum-file-missing",
        severity: "warning",
        blocksUp: true,
        path: where,
        value: `"${stated}"`,
        message: `there is no file ${relative}; it must hold the sha256sum line of ${fileName}`,
        fix: fromLab ? "run `make lab`: it writes the file" : `sha256sum ${fileName} >> ${relative}`,
      },
    };
  }
  const sha256 = checksumIn(readFileSync(file, "utf8"), fileName);
  if (sha256 !== undefined) return { sha256 };
  return {
    sha256: UNKNOWN,
    problem: {
      id: "checksum-line-missing",
      severity: "error",
      path: where,
      value: `"${stated}"`,
      message: `${relative} has no line for ${fileName}`,
      fix: fromLab
        ? "run `make lab`: it writes a line for every file that the lab offers; another version must be added to the lab first"
        : `check the version, or add the line: sha256sum ${fileName} >> ${relative}`,
    },
  };
}
