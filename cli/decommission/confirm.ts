import { createInterface } from "node:readline/promises";
import { UsageError } from "../exit-codes";

/**
 * Has a person write the stack's name, or takes `--yes NAME` for it.
 *
 * @throws UsageError when the name is another one, or nobody can be asked
 */
export async function confirm(name: string, yes: string | undefined): Promise<void> {
  if (yes !== undefined) {
    if (yes === name) return;
    throw new UsageError(`--yes ${yes}: this is the stack "${name}"; nothing was changed`);
  }
  if (!process.stdin.isTTY)
    throw new UsageError(`nobody can be asked here: write --yes ${name}; nothing was changed`);
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await questions.question(`To go on, write the stack's name (${name}): `);
    if (answer.trim() !== name) throw new UsageError("that is not its name; nothing was changed");
  } finally {
    questions.close();
  }
}
