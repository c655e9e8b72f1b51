/**
 * How fast an environment comes: our build against pip from the same wheelhouse, a second environment from a warm cache, and the way
 * back. hyperfine measures. Variables: environment-lab.ts.
 *
 *   node -r ./cli/typescript.js bench/environment.ts     prints Markdown; progress is on standard error
 */
import { join } from "node:path";

import { PROJECT } from "../test/lab/stack/lab-stack";
import {
  BENCH,
  build,
  CACHE,
  inContainer,
  inLab,
  lab,
  measure,
  stackCommand,
  STORE,
} from "./environment-lab";

function pip(option: string): string {
  const install = `install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-index --require-hashes ${option}`;
  return inContainer(
    129,
    `python3 -m venv /root/by-pip && /root/by-pip/bin/pip ${install} -r ${BENCH}/requirements.offline`,
  );
}

function run(): void {
  // Its list of links, which the worker writes at its first build, names the same files for pip.
  lab.onHost(build("first").line);
  lab.onHost("pct exec 129 -- bash -c 'apt-get update -q && apt-get install -q -y python3-venv'");
  const forget = (what: string): string => inContainer(129, `rm -rf ${what}; sync`);
  const clean = forget(`${STORE}/cold ${CACHE} /root/by-pip`);
  // In this order, so that the cache is warm for the last.
  measure("From the wheelhouse, no network", [
    { name: "pip", prepare: clean, command: pip("") },
    { name: "pip --no-compile", prepare: clean, command: pip("--no-compile") },
    { name: "ours", prepare: clean, command: build("cold").command },
    {
      name: "ours, a second environment, cache warm",
      prepare: forget(`${STORE}/warm`),
      command: build("warm").command,
    },
  ]);
  const stackFile = join(lab.folder, "Pulumi.test.yaml");
  measure("The way back: the whole command", [
    {
      name: "./stack rollback",
      prepare: "true",
      command: `${join(PROJECT, "stack")} rollback ${stackFile} bench`,
    },
  ]);
  const said = stackCommand("rollback", stackFile, "bench");
  process.stdout.write(`Of that, in the container: ${/switched in \d+ ms/.exec(said)?.[0] ?? said}.\n\n`);
}

inLab(run);
