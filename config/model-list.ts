/** Recorded file lists of models: `models/<owner>--<name>/<revision>.json`, written by `./stack describe-model`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { HIDDEN } from "./visible";

/** `owner/name`; neither begins with a dot or hyphen, so that both can be a part of a path and of a command line. */
export const REPOSITORY = /^[A-Za-z0-9_][A-Za-z0-9._-]*\/[A-Za-z0-9_][A-Za-z0-9._-]*$/;

const path = z
  .string()
  .max(1000)
  .refine((name) => !HIDDEN.test(name) && name.split("/").every((part) => !["", ".", ".."].includes(part)), {
    error: "a path inside the model's folder",
  });
const bytes = z.int().nonnegative();

/** Large files have a SHA-256 at the hub; small ones, which git itself holds, the id of their blob. */
const file = z.union([
  z.strictObject({ path, bytes, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  z.strictObject({ path, bytes, gitBlob: z.string().regex(/^[0-9a-f]{40}$/) }),
]);

const list = z.strictObject({ repo: z.string(), revision: z.string(), files: z.array(file).min(1) });

/** One file of a model's revision. */
export type ListedFile = z.output<typeof file>;

/** What a model's revision consists of. */
export type ModelList = z.output<typeof list>;

/** Where the list of a revision is kept, relative to the project. */
export function modelListFile(repo: string, revision: string): string {
  return join("models", repo.replace("/", "--"), `${revision}.json`);
}

/**
 * The recorded list of a revision.
 *
 * @returns undefined where none is recorded
 * @throws Error that names the file and what is wrong with it
 */
export function readModelList(
  projectDirectory: string,
  repo: string,
  revision: string,
): ModelList | undefined {
  const name = modelListFile(repo, revision);
  const address = join(projectDirectory, name);
  if (!existsSync(address)) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(address, "utf8"));
  } catch (error) {
    throw new Error(`${name} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const result = list.safeParse(content);
  if (!result.success) throw new Error(`${name}: ${z.prettifyError(result.error).replaceAll("\n", " ")}`);
  if (result.data.repo !== repo || result.data.revision !== revision) {
    throw new Error(
      `${name} is the list of ${result.data.repo} at ${result.data.revision}, not of what its name says`,
    );
  }
  return result.data;
}
