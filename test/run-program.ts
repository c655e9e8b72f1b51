/** A program that asks a server of the same test: nothing may block this process meanwhile. */
import { spawn } from "node:child_process";

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs it to its end, with a text on its standard input. */
export async function runProgram(
  command: string,
  words: readonly string[],
  { env = process.env, input = "" }: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Outcome> {
  const child = spawn(command, words, { env });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, output, errors };
}
