/** The values of a stack's secrets, for verbs that must reach a machine themselves. Never print them. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { readStackFile } from "../config/stack-file";
import { NAMESPACE, type SecretName } from "../config/schema";

/** A secret that the stack has and that cannot be read here. */
export class SecretError extends Error {}

/** The stack's name: `kpro5` of `Pulumi.kpro5.yaml`. */
export function stackNameOf(file: string): string {
  return /^Pulumi\.(.+)\.yaml$/.exec(path.basename(file))?.[1] ?? path.basename(file, ".yaml");
}

/** Pulumi decrypts what stands in the file as `secure:`; it needs the stack's passphrase or key, as for an `up`. */
function decrypted(file: string, name: SecretName, projectDirectory: string): string {
  const key = `${NAMESPACE}:${name}`;
  const words = [
    "config",
    "get",
    key,
    "--stack",
    stackNameOf(file),
    "--config-file",
    file,
    "--non-interactive",
  ];
  const { status, stdout, stderr, error } = spawnSync("pulumi", words, {
    cwd: projectDirectory,
    encoding: "utf8",
    timeout: 60_000,
    env: process.env,
  });
  if (error !== undefined)
    throw new SecretError(`${name} is encrypted and pulumi cannot be started: ${error.message}`);
  if (status !== 0)
    throw new SecretError(
      `${name} is encrypted and pulumi cannot read it: ${stderr.trim().split("\n").at(-1) ?? "no message"}`,
    );
  return stdout.replace(/\n$/, "");
}

/**
 * The value of a secret; undefined when the stack has none.
 *
 * @throws SecretError when it is encrypted and Pulumi cannot decrypt it here
 */
export function secretOf(file: string, name: SecretName, projectDirectory: string): string | undefined {
  const value = readStackFile(file).raw[`${NAMESPACE}:${name}`];
  if (value === undefined || value === "") return undefined;
  return typeof value === "string" ? value : decrypted(file, name, projectDirectory);
}
