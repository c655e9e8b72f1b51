import { secretIn } from "../../config/secret-forms";
import { readStackFile } from "../../config/stack-file";
import { NAMESPACE, SECRETS } from "../../config/schema";
import type { Files } from "./file-diffs";

/** Shorter texts occur by chance. */
const SHORTEST_SECRET = 8;

/** Secrets that stand in a stack file as plain text. */
function plainSecrets(stackFile: string): [name: string, value: string][] {
  const { raw } = readStackFile(stackFile);
  return Object.keys(SECRETS).flatMap((name) => {
    const value = raw[`${NAMESPACE}:${name}`];
    return typeof value === "string" && value.length >= SHORTEST_SECRET
      ? [[name, value.trim()] as [string, string]]
      : [];
  });
}

/**
 * Secrets never reach a rendering by themselves; a person can still have written one into an ordinary field.
 *
 * @throws Error naming the file and what kind of secret is in it, never the secret
 */
export function refuseSecrets(stackFile: string, files: Files): void {
  const secrets = plainSecrets(stackFile);
  for (const [file, text] of Object.entries(files)) {
    const found = secrets.find(([, value]) => text.includes(value))?.[0] ?? secretIn(text);
    if (found === undefined) continue;
    throw new Error(
      `${file} would hold ${found}: nothing was written. A secret stands in an ordinary field of the stack file (env, extraArgs, description, an address); secrets have keys of their own, see docs/reference/configuration.md`,
    );
  }
}
