/**
 * Previews of more and more containers, each with a card, an environment and a service: time, processor time and memory; and what the
 * program's start consists of, beside what the engine needs for a program that does nothing. A preview dials nothing, so no host is needed.
 *
 * BENCH_RUNS (default 5) is how often each is measured, BENCH_SIZES (default 1,10,50,100) the numbers of containers.
 *
 *   node -r ./cli/typescript.js bench/growth.ts     prints Markdown; progress is on standard error
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { shellWord } from "../plan/script";
import { initStack, PROJECT, type StackFile } from "../test/lab/stack/lab-stack";
import { makeMany } from "../test/lab/stack/many-containers";
import { emptyProject } from "./empty-project";
import { hyperfine, table, type Measured } from "./hyperfine";
import { observe, type Observed } from "./processes";

const RUNS = Number(process.env.BENCH_RUNS ?? 5);
const SIZES = (process.env.BENCH_SIZES ?? "1,10,50,100").split(",").map(Number);

const folder = mkdtempSync(join(tmpdir(), "bench-growth-"));
const environment = { ...process.env, LAB_DIR: folder };

/** Pulumi.lab.yaml with so many containers. */
function stackFile(size: number, salt: string | undefined): string {
  const text = readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8").replaceAll(/file:\S+/g, "a".repeat(64));
  const { config } = parse(text) as { config: StackFile };
  const prefix = "proxmox-gpu-stack:";
  const file = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.replace(prefix, ""), value]),
  );
  makeMany(file, size, "services");
  const path = join(folder, `Pulumi.size-${size}.yaml`);
  const values = Object.fromEntries(Object.entries(file).map(([key, value]) => [`${prefix}${key}`, value]));
  writeFileSync(path, stringify({ encryptionsalt: salt, config: values }));
  return path;
}

const SDKS = 'require("@pulumi/pulumi"); require("@pulumi/command"); require("@muhlba91/pulumi-proxmoxve")';

/** The parts of a start: what node needs to load each, in a process of its own. */
const PARTS: Readonly<Record<string, string>> = {
  "node alone": "node -e ''",
  "our files without Pulumi":
    'node -r ./cli/typescript.js -e \'require("./plan/stack"); require("./config/load")\'',
  "Pulumi's SDK and both providers', as they are": `node -e '${SDKS}'`,
  "the same as our program loads them": `node -r ./cli/program-start.js -e '${SDKS}'`,
  "./stack check lab": "./stack check lab",
};

function seconds(measured: readonly Measured[]): string[][] {
  return measured.map(({ name, median, min, max }) => [name, ...[median, min, max].map((n) => n.toFixed(2))]);
}

/** Processor time of all that a preview starts. */
const cpu = ({ programs }: Observed): number =>
  Object.values(programs).reduce((sum, used) => sum + used.cpu, 0);

/** Each command line once a round, so that what else the machine does meets all; of each the run with the least processor time. */
async function leastDisturbed(commands: ReadonlyMap<number, string>): Promise<Map<number, Observed>> {
  const best = new Map<number, Observed>();
  for (let round = 1; round <= RUNS; round++) {
    for (const [size, command] of commands) {
      const seen = await observe("bash", ["-c", `. engine/env.sh && exec ${command}`], {
        cwd: PROJECT,
        env: environment,
      });
      if (seen.status !== 0) throw new Error(`${command} failed: ${seen.output.slice(-4000)}`);
      process.stderr.write(
        `round ${round}, ${size} containers: ${seen.seconds.toFixed(1)} s, ${cpu(seen)} s CPU\n`,
      );
      const before = best.get(size);
      if (before === undefined || cpu(seen) < cpu(before)) best.set(size, seen);
    }
  }
  return best;
}

function previewTable(rows: ReadonlyMap<number, Observed>): string {
  return table(
    ["containers", "s", "CPU s", "program", "engine", "providers", "MiB: program", "engine"],
    [...rows].map(([size, seen]) => {
      const { program, engine, providers } = seen.programs;
      return [
        size === 0 ? "a program that does nothing" : size,
        seen.seconds.toFixed(1),
        ...[cpu(seen), program.cpu, engine.cpu, providers.cpu].map((value) => value.toFixed(1)),
        ...[program, engine].map(({ peakMiB }) => peakMiB.toFixed(0)),
      ];
    }),
  );
}

async function run(): Promise<void> {
  spawnSync("engine/install", { cwd: PROJECT, env: environment, stdio: ["ignore", 2, 2] });
  const made = initStack("size", folder, environment);
  const { encryptionsalt } = parse(readFileSync(made, "utf8")) as { encryptionsalt?: string };
  const parts = hyperfine(
    Object.entries(PARTS).map(([name, command]) => ({ name, command })),
    { runs: String(RUNS), warmup: 1, environment, cwd: PROJECT },
  );
  process.stdout.write(`### Start\n\n${table(["part", "median [s]", "min [s]", "max [s]"], seconds(parts))}`);
  const empty = emptyProject(folder, environment);
  const commands = new Map([[0, `pulumi preview ${empty} --non-interactive`]]);
  for (const size of SIZES) {
    const file = shellWord(stackFile(size, encryptionsalt));
    commands.set(
      size,
      `pulumi preview --stack size --config-file ${file} --non-interactive --suppress-outputs`,
    );
  }
  const seen = await leastDisturbed(commands);
  process.stdout.write(`### Preview\n\n${previewTable(seen)}`);
  const steps = [...seen].slice(2).map(([size, more], index) => {
    const [fewer, less] = [...seen][index + 1] ?? [size, more];
    const each = (value: (of: Observed) => number): string =>
      ((1000 * (value(more) - value(less))) / (size - fewer)).toFixed(0);
    return `${fewer}–${size}: ${each(cpu)} ms of processor time (${each((of) => of.seconds)} ms)`;
  });
  if (steps.length > 0) process.stdout.write(`For each further container: ${steps.join("; ")}.\n\n`);
}

run()
  .finally(() => {
    rmSync(folder, { recursive: true, force: true });
  })
  .catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
