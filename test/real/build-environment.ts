/**
 * A real environment, once, by hand: built from its lock in a lab container, smoke-tested, and built again from the wheelhouse
 * with the container's network cut. Prints a table for docs/verified-on.md.
 *
 *   node -r ./cli/typescript.js test/real/build-environment.ts [NAME]      default qwen36-sglang-0.5.11
 *
 * Needs what the lab needs, a package index, and for the default about 30 GB of disk in LAB_DISKS (default
 * /var/tmp/proxmox-gpu-stack-real), the caches and the local wheelhouse.
 * KEEP_LAB=1 leaves the lab up. Takes about ten minutes on an idle machine. Exit 0: everything held; 1: what did not is the last line.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

import { readEnvironmentFolder } from "../../config/environment-folder";
import { LabStack, PROJECT } from "../lab/stack/lab-stack";

const NAME = process.argv[2] ?? "qwen36-sglang-0.5.11";
const DISKS = process.env.LAB_DISKS ?? "/var/tmp/proxmox-gpu-stack-real";
const WORK_LOG = "/var/lib/proxmox-gpu-stack/work/environment-real.log";

const rows: [what: string, seconds: string, seen: string][] = [];

/** Runs something, and notes how long it took and what it says of itself. */
function timed(what: string, action: () => string): void {
  process.stderr.write(`${what} …\n`);
  const begun = Date.now();
  const seen = action();
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  rows.push([what, seconds, seen]);
  process.stderr.write(`  ${seconds} s ${seen}\n`);
}

/** `./stack VERB …` of this project; throws with all that it said when it fails. */
function stackCommand(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(join(PROJECT, "stack"), words, {
    encoding: "utf8",
    env: { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: lab.subnet },
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`./stack ${words.join(" ")} failed:\n${stdout}${stderr}`);
  return stderr.trim().split("\n").at(-1) ?? "";
}

/** What the build said of its parts: uv's own figures. */
function buildFigures(): string {
  const log = lab.inContainer(`cat ${WORK_LOG}`);
  return [...log.matchAll(/(?:Resolved|Prepared|Installed) \d+ packages in [\d.ms ]+/g)]
    .map(([line]) => line.trim().toLowerCase())
    .join(", ");
}

function sizeInContainer(path: string): string {
  return `${lab.inContainer(`du -sh ${path}`).split("\t")[0] ?? "?"}B`;
}

/** Each module in a process of its own: seconds, version, or why not. */
function importTimes(modules: readonly string[]): void {
  for (const name of modules) {
    timed(`import ${name}, in a new process`, () => {
      const code = `import ${name}; print(getattr(${name.split(".")[0] ?? ""}, "__version__", "imported"))`;
      return lab.inContainer(`/opt/real/bin/python3 -W ignore -c '${code}'`).split("\n").at(-1) ?? "";
    });
  }
}

/** The stack: one container with the environment, no model, no service; packages from the index at first. */
function declare(): void {
  lab.edit((file) => {
    delete file.services;
    delete file.models;
    const containers = file.containers as Record<string, Record<string, unknown>>;
    Object.assign(containers.ml ?? {}, { memoryGiB: 8, rootDisk: { storage: "local-lvm", sizeGiB: 40 } });
    file.environments = {};
  });
}

function declareEnvironment(keep: number): void {
  lab.edit((file) => {
    file.environments = {
      real: {
        container: "ml",
        path: "/opt/real",
        lock: NAME,
        python: folder.pythonVersion,
        index: `http://${lab.subnet}.1:3141/upstream/simple`,
        keep,
      },
    };
  });
}

function run(): void {
  timed("host, driver and container", () => {
    lab.up();
    declare();
    lab.deploy();
    return "";
  });
  declareEnvironment(2);
  timed("environment from the package index", () => {
    lab.deploy();
    return buildFigures();
  });
  rows.push(["its size", "", sizeInContainer("/opt/proxmox-gpu-stack/environments")]);
  importTimes(folder.smokeTest.imports);
  timed("its files into the local wheelhouse", () => stackCommand("wheelhouse", "fetch", NAME));
  timed("every SHA-256 there", () => stackCommand("wheelhouse", "verify", NAME));

  lab.edit((file) => {
    file.wheelhouse = { path: "/srv/wheelhouse" };
  });
  lab.onHost("install -d /srv/wheelhouse");
  timed("to the host over SSH", () =>
    stackCommand("wheelhouse", "push", join(lab.folder, "Pulumi.test.yaml")),
  );
  timed("up: the wheelhouse verified on the host and mounted", () => {
    lab.deploy();
    return `${lab.onHost("du -sh /srv/wheelhouse").split("\t")[0] ?? "?"}B`;
  });

  // As on a new container; the Debian packages stay.
  lab.inContainer("rm -rf /opt/real /opt/proxmox-gpu-stack /var/cache/proxmox-gpu-stack");
  lab.inContainer("ip link set eth0 down");
  declareEnvironment(3);
  timed("environment from the wheelhouse, the container's network cut", () => {
    lab.deploy();
    return buildFigures();
  });
  if (lab.inContainer("ip -brief link show eth0").includes("UP")) throw new Error("the network was not cut");
  importTimes(folder.smokeTest.imports);
}

const folder = readEnvironmentFolder(NAME, PROJECT);
process.env.LAB_DISKS = DISKS;
const lab = new LabStack();
let failure: unknown;
try {
  run();
} catch (error) {
  failure = error;
}
if (process.env.KEEP_LAB === undefined) {
  lab.down();
  rmSync(DISKS, { recursive: true, force: true });
} else {
  process.stderr.write(`kept: LAB_DIR=${lab.folder} LAB_SUBNET=${lab.subnet}\n`);
}
process.stdout.write(`${NAME}, ${cpus().length} cores\n\n| step | seconds | seen |\n| --- | ---: | --- |\n`);
for (const row of rows) process.stdout.write(`| ${row.join(" | ")} |\n`);
if (failure !== undefined) {
  process.stderr.write(`${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}
