/**
 * How long a preview takes with more and more containers, each with a card, an environment and a service; and what of it is the
 * engine's own and the program's start. A preview dials nothing, so no host is needed.
 *
 * BENCH_RUNS (default 5) is how often each is measured, BENCH_SIZES (default 1,5,10,20,50) the numbers of containers.
 *
 *   node -r ./cli/typescript.js bench/growth.ts     prints Markdown; progress is on standard error
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { shellWord } from "../plan/script";
import { initStack, PROJECT } from "../test/lab/stack/lab-stack";
import { hyperfine, table, type Measured } from "./hyperfine";

const RUNS = process.env.BENCH_RUNS ?? "5";
const SIZES = (process.env.BENCH_SIZES ?? "1,5,10,20,50").split(",").map(Number);

const folder = mkdtempSync(join(tmpdir(), "bench-growth-"));
const environment = { ...process.env, LAB_DIR: folder };

type Entries = Record<string, Record<string, unknown>>;

/** Pulumi.lab.yaml with so many containers. */
function stackFile(size: number, salt: string | undefined): string {
  const file = parse(readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8")) as {
    config: Record<string, Entries>;
  };
  const values = (key: string): Entries => file.config[`proxmox-gpu-stack:${key}`] ?? {};
  const numbers = Array.from({ length: size }, (_, index) => index + 1);
  const each = (key: string, entry: (number: number) => [string, unknown]): void => {
    file.config[`proxmox-gpu-stack:${key}`] = Object.fromEntries(numbers.map(entry)) as Entries;
  };
  const { ml } = values("containers");
  const environmentValues = values("environments")["ml-env"];
  const { qwen } = values("services");
  const checksum = "0".repeat(64);
  Object.assign(values("driver").installer ?? {}, { sha256: checksum });
  each("gpus", (n) => [
    `card-${n}`,
    { model: "rtx-a6000", uuid: `GPU-3c1f7a52-6a0e-4d1b-9f57-${String(n).padStart(12, "0")}` },
  ]);
  each("containers", (n) => [
    `ml-${n}`,
    {
      ...ml,
      vmId: 1000 + n,
      gpus: [`card-${n}`],
      template: { ...(ml?.template as object), sha256: checksum },
      network: { ...(ml?.network as object), address: `10.77.0.${100 + n}/24` },
    },
  ]);
  each("environments", (n) => [`env-${n}`, { ...environmentValues, container: `ml-${n}` }]);
  each("services", (n) => [`qwen-${n}`, { ...qwen, environment: `env-${n}` }]);
  const path = join(folder, `Pulumi.size-${size}.yaml`);
  writeFileSync(path, stringify({ encryptionsalt: salt, config: file.config }));
  return path;
}

const inEngine = (command: string): string => `bash -c ${shellWord(`. engine/env.sh && ${command}`)}`;

/** A program that does nothing, with a stack of its own: what is left is the engine's. */
function emptyProject(): string {
  const project = join(folder, "empty");
  mkdirSync(project);
  writeFileSync(
    join(project, "Pulumi.yaml"),
    "name: empty\nruntime: { name: nodejs, options: { typescript: false } }\n",
  );
  writeFileSync(join(project, "index.js"), "");
  writeFileSync(join(project, "package.json"), '{ "name": "empty", "main": "index.js" }\n');
  spawnSync("ln", ["-s", join(PROJECT, "node_modules"), join(project, "node_modules")]);
  const { status, stderr } = spawnSync(
    "bash",
    ["-c", `. engine/env.sh && pulumi stack init empty --cwd ${project}`],
    {
      cwd: PROJECT,
      env: environment,
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(stderr);
  return `pulumi preview --stack empty --cwd ${project} --non-interactive`;
}

/** The parts of a start: what node needs to load each, in a process of its own. */
const PARTS: Readonly<Record<string, string>> = {
  "node alone": "node -e ''",
  "our files without Pulumi":
    'node -r ./cli/typescript.js -e \'require("./plan/stack"); require("./config/load")\'',
  "Pulumi's SDK": "node -e 'require(\"@pulumi/pulumi\")'",
  "Pulumi's SDK and both providers'":
    'node -e \'require("@pulumi/pulumi"); require("@pulumi/command"); require("@muhlba91/pulumi-proxmoxve")\'',
  "./stack check lab": "./stack check lab",
};

function seconds(measured: readonly Measured[]): string[][] {
  return measured.map(({ name, median, min, max }) => [name, ...[median, min, max].map((n) => n.toFixed(2))]);
}

function run(): void {
  spawnSync("engine/install", { cwd: PROJECT, env: environment, stdio: ["ignore", 2, 2] });
  const made = initStack("size", folder, environment);
  const { encryptionsalt } = parse(readFileSync(made, "utf8")) as { encryptionsalt?: string };
  const preview = (size: number): string =>
    `pulumi preview --stack size --config-file ${stackFile(size, encryptionsalt)} --non-interactive --suppress-outputs`;
  const options = { runs: RUNS, warmup: 1, environment, cwd: PROJECT };
  const empty = "engine, empty program";
  const ways = [
    { name: empty, command: inEngine(emptyProject()) },
    ...SIZES.map((size) => ({ name: `${size}`, command: inEngine(preview(size)) })),
  ];
  const measured = hyperfine(ways, options);
  const parts = hyperfine(
    Object.entries(PARTS).map(([name, command]) => ({ name, command })),
    options,
  );
  process.stdout.write(`### Start\n\n${table(["part", "median [s]", "min [s]", "max [s]"], seconds(parts))}`);
  process.stdout.write(
    `### Preview\n\n${table(["containers", "median [s]", "min [s]", "max [s]"], seconds(measured))}`,
  );
  const of = (size: number): number => measured.find(({ name }) => name === `${size}`)?.median ?? NaN;
  const steps = SIZES.slice(1).map((size, index) => {
    const before = SIZES[index] ?? 0;
    return `${before}–${size}: ${((1000 * (of(size) - of(before))) / (size - before)).toFixed(0)} ms`;
  });
  process.stdout.write(`For each further container: ${steps.join(", ")}.\n\n`);
}

try {
  run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
