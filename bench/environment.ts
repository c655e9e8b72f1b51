/**
 * How fast an environment comes, in containers of a lab host whose disk is a folder of this machine: our build against pip from the
 * same wheelhouse, a second environment from a warm cache, a second container, and the way back. hyperfine measures.
 *
 *   node -r @swc-node/register bench/environment.ts     prints Markdown; progress is on standard error
 *
 * BENCH_LOCK (default qwen36-sglang-0.5.11) is the environment, BENCH_RUNS (default 3) how often each is measured, BENCH_ONLY
 * packages of the lock, by commas, instead of all of it.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { readEnvironmentFolder } from "../config/environment-folder";
import { LabStack, PROJECT } from "../test/lab/stack/lab-stack";

const LOCK = process.env.BENCH_LOCK ?? "qwen36-sglang-0.5.11";
const RUNS = process.env.BENCH_RUNS ?? "3";
const SUBNET = process.env.LAB_SUBNET ?? "10.96.0";
const DISKS = process.env.LAB_DISKS ?? "/var/tmp/proxmox-gpu-stack-bench";
/** What the step leaves in a container for its worker; BENCH is a copy without imports in the smoke test. */
const INPUTS = "/var/lib/proxmox-gpu-stack/environments/bench";
const BENCH = "/root/bench";
const STORE = "/opt/proxmox-gpu-stack/environments/bench";
const CACHE = "/var/cache/proxmox-gpu-stack/uv";

interface Way {
  readonly name: string;
  readonly container?: number;
  /** Run before each measurement. */
  readonly prepare: string;
  readonly command: string;
}

process.env.LAB_DISKS = DISKS;
const lab = new LabStack(SUBNET);
const folder = readEnvironmentFolder(LOCK, PROJECT);
const labCommand = join(PROJECT, "lab/lab");
const environment = { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: SUBNET };

/** A command line in a container, as a command line of this machine. */
function inContainer(container: number, line: string): string {
  return `${labCommand} shell pve1 "pct exec ${container} -- bash -c '${line}'"`;
}

/** Measures the ways one after the other and prints hyperfine's table, whose last column is the ratio to the fastest. */
function measure(title: string, ways: readonly Way[]): void {
  const work = mkdtempSync(join(tmpdir(), "bench-"));
  const table = join(work, "table.md");
  const words = ["--style", "basic", "--warmup", "0", "--runs", RUNS, "--export-markdown", table];
  for (const way of ways) {
    words.push("--command-name", way.name, "--prepare", way.prepare, way.command);
  }
  const { status } = spawnSync("hyperfine", words, { env: environment, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`hyperfine ended with ${status}`);
  process.stdout.write(`### ${title}\n\n${readFileSync(table, "utf8")}\n`);
  rmSync(work, { recursive: true });
}

/** `./stack VERB …`; throws with all that it said when it fails. */
function stackCommand(...words: string[]): void {
  const { status } = spawnSync(join(PROJECT, "stack"), words, { env: environment, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`./stack ${words.join(" ")} ended with ${status}`);
}

/** Two containers, each with the environment, from a wheelhouse on the host. */
function deploy(): void {
  stackCommand("wheelhouse", "fetch", LOCK);
  lab.up();
  lab.edit((file) => {
    delete file.services;
    delete file.models;
    const { ml } = file.containers as { ml: Record<string, unknown> };
    Object.assign(ml, { memoryGiB: 8, rootDisk: { storage: "local-lvm", sizeGiB: 60 }, gpus: ["a6000-0"] });
    const network = { ...(ml.network as object), address: `${SUBNET}.130/24` };
    file.containers = { ml, second: { ...ml, vmId: 130, network, gpus: ["a6000-1"], mounts: [] } };
    file.wheelhouse = { path: "/srv/wheelhouse" };
    const bench = { lock: LOCK, python: folder.pythonVersion };
    // The second has it too: that is what mounts the wheelhouse there.
    file.environments = {
      bench: { ...bench, container: "ml", path: "/opt/bench" },
      other: { ...bench, container: "second", path: "/opt/bench" },
    };
  });
  lab.onHost("install -d /srv/wheelhouse");
  stackCommand("wheelhouse", "push", join(lab.folder, "Pulumi.test.yaml"));
  lab.deploy();
}

/** The worker's inputs without the imports of the smoke test, which take the same time whoever installed; and pip. */
function prepareContainers(): void {
  const only = process.env.BENCH_ONLY?.split(",");
  lab.inContainer(`cp -a ${INPUTS} ${BENCH}`);
  lab.inContainer(`bash -c "echo '{\\"imports\\":[],\\"architectures\\":[]}' >${BENCH}/smoke-test"`);
  if (only !== undefined) {
    const names = only.join("|");
    const keep = `/^[A-Za-z0-9]/ { kept = (\\$0 ~ /^(${names})(\\[[^]]*\\])?==/) } kept`;
    lab.inContainer(
      `bash -c "awk '${keep}' ${BENCH}/requirements >${BENCH}/some && mv ${BENCH}/some ${BENCH}/requirements"`,
    );
  }
  // Its link lists, which the worker writes at its first build, name the same files for pip.
  lab.inContainer(`${BENCH}/ml-env-build ${BENCH} ${STORE}/first ${folder.pythonVersion} "" ""`);
  lab.onHost(`pct exec 129 -- tar -C /root -c bench | pct exec 130 -- tar -C /root -x`);
  lab.inContainer("apt-get install -q -y python3-venv");
  lab.inContainer("python3 -m venv /root/pip");
}

function build(target: string, container = 129): string {
  return inContainer(
    container,
    `${BENCH}/ml-env-build ${BENCH} ${STORE}/${target} ${folder.pythonVersion} \\"\\" \\"\\"`,
  );
}

function pip(option: string): string {
  const install = `install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-index --require-hashes ${option}`;
  return inContainer(
    129,
    `python3 -m venv /root/by-pip && /root/by-pip/bin/pip ${install} -r ${BENCH}/requirements.offline`,
  );
}

function run(): void {
  deploy();
  prepareContainers();
  const forget = (what: string, container = 129): string => inContainer(container, `rm -rf ${what}; sync`);
  const clean = forget(`${STORE}/cold ${CACHE} /root/by-pip`);
  const files = Number(lab.inContainer(`bash -c "grep -c == ${BENCH}/requirements"`));
  measure(`${files} packages of ${LOCK} from the host's wheelhouse, no network, nothing cached`, [
    { name: "ours", prepare: clean, command: build("cold") },
    { name: "pip", prepare: clean, command: pip("") },
    { name: "pip --no-compile", prepare: clean, command: pip("--no-compile") },
  ]);
  lab.inContainer(`rm -rf ${STORE}/cold ${CACHE} /root/by-pip`);
  lab.inContainer(`${BENCH}/ml-env-build ${BENCH} ${STORE}/cold ${folder.pythonVersion} "" ""`);
  measure("Again", [
    {
      name: "a second environment of the container, cache warm",
      prepare: forget(`${STORE}/warm`),
      command: build("warm"),
    },
    {
      name: "the first of the next container",
      prepare: forget(`${STORE}/cold ${CACHE}`, 130),
      command: build("cold", 130),
    },
  ]);
  const stackFile = join(lab.folder, "Pulumi.test.yaml");
  measure("The way back: an earlier environment, from the command to the container's link", [
    {
      name: "./stack rollback",
      prepare: "true",
      command: `${join(PROJECT, "stack")} rollback ${stackFile} bench`,
    },
  ]);
}

try {
  run();
} finally {
  if (process.env.KEEP_LAB === undefined) {
    lab.down();
    rmSync(DISKS, { recursive: true, force: true });
  } else {
    process.stderr.write(`kept: LAB_DIR=${lab.folder} LAB_SUBNET=${SUBNET}\n`);
  }
}
