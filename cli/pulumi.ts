/** Pulumi's command line on one stack, for verbs that read or change its state or deploy. */
import { spawn } from "node:child_process";
import { PROJECT_DIRECTORY } from "../config/load";
import { stackNameOf } from "./stack-secrets";

/** Pulumi ended with an error, which it has told itself. */
export class PulumiError extends Error {}

export interface PulumiOptions {
  /** Gets what Pulumi prints as it comes; without it the output is only returned. */
  readonly show?: (text: string) => void;
  /** Text for its standard input. */
  readonly input?: string;
}

/**
 * Runs `pulumi WORDS --stack …` in the project and returns its standard output.
 *
 * @throws PulumiError when it cannot be started or ends with an error
 */
export function pulumi(file: string, words: readonly string[], options: PulumiOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      "pulumi",
      [...words, "--stack", stackNameOf(file), "--non-interactive", "--color", "never"],
      { cwd: PROJECT_DIRECTORY, stdio: "pipe", env: process.env },
    );
    const written = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        written[stream] += text;
        options.show?.(text);
      });
    child.on("error", (error) =>
      reject(new PulumiError(`pulumi cannot be started: ${error.message}; is it installed and on the PATH?`)),
    );
    child.on("close", (status) => {
      if (status === 0) return resolve(written.stdout);
      // What was shown is not repeated.
      const cause = options.show === undefined ? `: ${(written.stderr || written.stdout).trim()}` : "";
      reject(new PulumiError(`pulumi ${words[0] ?? ""} ended with ${status}${cause}`));
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}
