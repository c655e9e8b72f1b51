/** A program that does nothing, with a stack of its own: what a command takes on it is the engine's. */
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { shellWord } from "../plan/script";
import { PROJECT } from "../test/lab/stack/lab-stack";

/**
 * Makes it and its stack.
 *
 * @returns the words that choose it on Pulumi's command line
 */
export function emptyProject(folder: string, environment: NodeJS.ProcessEnv): string {
  const project = join(folder, "empty");
  mkdirSync(project);
  writeFileSync(
    join(project, "Pulumi.yaml"),
    "name: empty\nruntime: { name: nodejs, options: { typescript: false } }\n",
  );
  writeFileSync(join(project, "index.js"), "");
  writeFileSync(join(project, "package.json"), '{ "name": "empty", "main": "index.js" }\n');
  symlinkSync(join(PROJECT, "node_modules"), join(project, "node_modules"));
  const words = `--stack empty --cwd ${shellWord(project)}`;
  const { status, stderr } = spawnSync(
    "bash",
    ["-c", `. engine/env.sh && pulumi stack init empty --cwd ${shellWord(project)}`],
    {
      cwd: PROJECT,
      env: environment,
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(stderr);
  return words;
}
