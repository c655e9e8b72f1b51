/** `npm run schemas`: writes what is generated from the schemas of config/. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { stackFileSchema } from "../config/json-schema";
import { PROJECT_DIRECTORY } from "../config/load";
import { configurationReference } from "../config/reference";

/** Prettier's form, by its command: its library cannot be loaded in every test environment. */
function formatted(file: string, text: string): string {
  const prettier = require.resolve("prettier/bin/prettier.cjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [prettier, "--stdin-filepath", file], {
    cwd: PROJECT_DIRECTORY,
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`prettier cannot format ${file}: ${stderr}`);
  return stdout;
}

/** Generated files by their path in the project, with their text. */
export function generatedFiles(): Record<string, string> {
  const reference = "docs/reference/configuration.md";
  return {
    "schemas/stack.schema.json": `${JSON.stringify(stackFileSchema(), null, 2)}\n`,
    [reference]: formatted(reference, configurationReference()),
  };
}

if (require.main === module) {
  for (const [file, text] of Object.entries(generatedFiles())) {
    writeFileSync(path.join(PROJECT_DIRECTORY, file), text);
    process.stdout.write(`${file}\n`);
  }
}
