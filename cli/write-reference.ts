/** `npm run reference`: writes what is generated from the schemas of config/. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { stackFileSchema } from "../config/json-schema";
import { PROJECT_DIRECTORY } from "../config/load";
import { configurationReference } from "../config/reference";

/** Generated files by their path in the project, with their text. */
export async function generatedFiles(): Promise<Record<string, string>> {
  const { format, resolveConfig } = await import("prettier");
  const style = await resolveConfig(PROJECT_DIRECTORY);
  return {
    "schemas/stack.schema.json": `${JSON.stringify(stackFileSchema(), null, 2)}\n`,
    "docs/reference/configuration.md": await format(configurationReference(), {
      ...style,
      parser: "markdown",
    }),
  };
}

async function main(): Promise<void> {
  for (const [file, text] of Object.entries(await generatedFiles())) {
    writeFileSync(path.join(PROJECT_DIRECTORY, file), text);
    process.stdout.write(`${file}\n`);
  }
}

if (require.main === module) void main();
