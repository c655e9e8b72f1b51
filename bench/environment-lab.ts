/**
 * Two containers of a lab host whose disk is a folder of this machine, with the files of a real environment in the host's wheelhouse:
 * what the measurements of environments have in common.
 *
 * BENCH_LOCK (default qwen36-sglang-0.5.11) is the environment, BENCH_RUNS (default 3) how often each is measured, BENCH_ONLY
 * packages of the lock, by commas, instead of all of it. KEEP_LAB=1 leaves the lab up.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { localWheelhouse } from "../cli/pin/tools";
import { readEnvironmentFolder } from "../config/environment-folder";
import { shellWord } from "../plan/script";
import { fileList, uvFiles } from "../plan/wheelhouse-steps";
import { LabStack, PROJECT } from "../test/lab/stack/lab-stack";
import { hyperfineExport, type Way } from "./hyperfine";

const LOCK = process.env.BENCH_LOCK ?? "qwen36-sglang-0.5.11";
const RUNS = process.env.BENCH_RUNS ?? "3";
const DISKS = process.env.LAB_DISKS ?? "/var/tmp/proxmox-gpu-stack-bench";
/** What the stack deploys, so that the containers have a wheelhouse and the worker. */
const SMALL = "lab-sglang-0.5.11";
/** The worker's inputs, as its step leaves them in a container; here without imports in the smoke test. */
export const BENCH = "/root/bench";
export const STORE = "/opt/proxmox-gpu-stack/environments/bench";
export const CACHE = "/var/cache/proxmox-gpu-stack/uv";

process.env.LAB_DISKS = DISKS;
export const lab = new LabStack();
export const folder = readEnvironmentFolder(LOCK, PROJECT);
const labCommand = join(PROJECT, "lab/lab");
const environment = { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: lab.subnet };

/** A command line in a container, as a command line of this machine. */
export function inContainer(container: number, line: string): string {
  return `${labCommand} shell pve1 ${shellWord(`pct exec ${container} -- bash -c '${line}'`)}`;
}

/** Measures the ways one after the other and prints hyperfine's table, whose last column is the ratio to the fastest. */
export function measure(title: string, ways: readonly Way[]): void {
  const table = hyperfineExport("markdown", ways, { runs: RUNS, environment });
  process.stdout.write(`### ${title}\n\n${table}\n`);
}

/** `./stack VERB …`: what it said; throws with that when it fails. */
export function stackCommand(...words: string[]): string {
  const { status, stderr } = spawnSync(join(PROJECT, "stack"), words, {
    env: environment,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  process.stderr.write(stderr);
  if (status !== 0) throw new Error(`./stack ${words.join(" ")} ended with ${status}`);
  return stderr;
}

/** Two containers with a small environment each, from a wheelhouse on the host: that mounts it there. */
function deploy(): void {
  lab.up();
  stackCommand("wheelhouse", "fetch", SMALL, "--index", `http://${lab.subnet}.1:3141/simple`);
  stackCommand("wheelhouse", "fetch", LOCK);
  lab.edit((file) => {
    delete file.services;
    delete file.models;
    const { ml } = file.containers as { ml: Record<string, unknown> };
    Object.assign(ml, { memoryGiB: 8, rootDisk: { storage: "local-lvm", sizeGiB: 60 }, gpus: ["a6000-0"] });
    const network = { ...(ml.network as object), address: `${lab.subnet}.130/24` };
    file.containers = { ml, second: { ...ml, vmId: 130, network, gpus: ["a6000-1"] } };
    file.wheelhouse = { path: "/srv/wheelhouse" };
    const small = { lock: SMALL, python: "3.11", path: "/opt/bench" };
    file.environments = { bench: { ...small, container: "ml" }, other: { ...small, container: "second" } };
  });
  lab.onHost("install -d /srv/wheelhouse");
  stackCommand("wheelhouse", "push", join(lab.folder, "Pulumi.test.yaml"));
  lab.deploy();
}

/** A command line on the lab's host that reads `input`. */
export function onHostWith(input: string, line: string): void {
  const { status, stderr } = spawnSync(labCommand, ["shell", "pve1", line], {
    env: environment,
    input,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${line}: ${stderr}`);
}

/** The files of the measured packages to the host, and the worker's inputs for them in both containers. */
function prepareContainers(): void {
  const only = process.env.BENCH_ONLY?.split(",");
  const measured = (name: string | undefined): boolean =>
    name === undefined || (only?.includes(name) ?? true);
  const packages = folder.lock?.packages.filter(({ name }) => measured(name)) ?? [];
  const files = (folder.files ?? []).filter((file) => measured(file.package));
  const list = [...files, ...uvFiles(PROJECT)];
  const paths = files.map(({ sha256, name }) => `files/${sha256}/${name}`).join("\n");
  const send = `tar -C ${localWheelhouse()} -c -T - | ${labCommand} shell pve1 tar -C /srv/wheelhouse -x`;
  const sent = spawnSync("bash", ["-o", "pipefail", "-c", send], {
    env: environment,
    input: paths,
    encoding: "utf8",
  });
  if (sent.status !== 0) throw new Error(`the files could not be sent: ${sent.stderr}`);
  const lock = packages.map(({ name, version, hashes }) =>
    [`${name}==${version}`, ...hashes.map((hash) => `--hash=sha256:${hash}`)].join(" \\\n    "),
  );
  const inputs = {
    requirements: lock.join("\n"),
    files: fileList(list),
    "smoke-test": '{"imports":[],"architectures":[]}',
  };
  for (const [container, name] of [
    [129, "bench"],
    [130, "other"],
  ] as const) {
    lab.onHost(`pct exec ${container} -- cp -a /var/lib/proxmox-gpu-stack/environments/${name} ${BENCH}`);
    for (const [file, text] of Object.entries(inputs)) {
      onHostWith(`${text}\n`, `pct exec ${container} -- tee ${BENCH}/${file} >/dev/null`);
    }
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  process.stdout.write(
    `${packages.length} packages of ${LOCK}, ${Math.round(bytes / 1e6)} MB, from the host's wheelhouse.\n\n`,
  );
}

interface Build {
  /** On the lab's host, and on this machine. */
  readonly line: string;
  readonly command: string;
}

/** @param share folder of the same environment that a link is made to instead */
export function build(target: string, container = 129, share?: string): Build {
  const words = `${BENCH}/ml-env-build ${BENCH} ${STORE}/${target} ${folder.pythonVersion}`;
  const line = `pct exec ${container} -- bash -c '${words} "" ""${share === undefined ? "" : ` "" ${share}`}'`;
  return { line, command: `${labCommand} shell pve1 ${shellWord(line)}` };
}

/** Runs measurements, and takes the lab down. */
export function inLab(run: () => void): void {
  try {
    deploy();
    prepareContainers();
    run();
  } finally {
    if (process.env.KEEP_LAB === undefined) {
      lab.down();
      rmSync(DISKS, { recursive: true, force: true });
    } else {
      process.stderr.write(`kept: LAB_DIR=${lab.folder} LAB_SUBNET=${lab.subnet}\n`);
    }
  }
}
