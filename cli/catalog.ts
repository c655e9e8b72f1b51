import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const ROOT = join(__dirname, "..");
const SCRIPT = join(ROOT, "scripts", "catalog", "extract_release.py");

/** Where the data files of the releases lie. */
export const RELEASES_FOLDER = join(ROOT, "catalog", "releases");

/**
 * Adds an SGLang release to the catalog (`./stack catalog add-release VERSION`): its wheel is taken from the
 * package index that pip is configured for, and its flags, pins and environment names are written to
 * `catalog/releases/VERSION.json`. A release that is there already is written anew, from the same wheel.
 *
 * @param version a release number as PyPI spells it, for example "0.5.23"
 * @param folder where the data file goes; default: the catalog
 * @returns the path of the data file
 * @throws Error with the tool's own words: no such release, no network, another hash than the catalog's
 */
export async function addRelease(version: string, folder = RELEASES_FOLDER): Promise<string> {
  if (!/^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?$/.test(version)) {
    throw new Error(`release: "${version}" is not a release number; write one such as 0.5.23`);
  }
  try {
    await run("python3", [SCRIPT, version, "--out", folder], { maxBuffer: 1 << 24 });
  } catch (error) {
    const words = (error as { stderr?: string }).stderr?.trim();
    throw new Error(words === undefined || words === "" ? String(error) : words, { cause: error });
  }
  return join(folder, `${version}.json`);
}
