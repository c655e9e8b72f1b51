/**
 * Stacks of many containers, deployed to a lab's host as far as this machine carries them. README.md says what the columns are.
 *
 * BENCH_SIZES (default 1,10,14,50,100) are the numbers of containers. The host's disk is a folder (LAB_DISKS, default
 * /var/tmp/proxmox-gpu-stack-bench), about 0.3 GB for each.
 *
 *   node -r ./cli/typescript.js bench/load.ts     prints Markdown; progress is on standard error
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { shellWord } from "../plan/script";
import { LabStack, PROJECT } from "../test/lab/stack/lab-stack";
import { makeMany } from "../test/lab/stack/many-containers";
import { table } from "./hyperfine";
import { observe, type Observed } from "./processes";
import { newestProcess, TrafficRecorder, type Traffic } from "./traffic";

const SIZES = (process.env.BENCH_SIZES ?? "1,10,14,50,100").split(",").map(Number);

/** Below this, in GiB, no more is asked of the machine. */
const MEMORY_FLOOR = 4;
/** What a container of the lab takes of it, roughly. */
const GIB_EACH = 0.06;
/** Inotify instances of a container: seven, and two more while it starts; all unprivileged containers of a machine count as one user. */
const INSTANCES_EACH = 9;
const INOTIFY_INSTANCES = "/proc/sys/fs/inotify/max_user_instances";

process.env.LAB_DISKS ??= "/var/tmp/proxmox-gpu-stack-bench";

const lab = new LabStack();
const env = { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: lab.subnet };
const stackFile = join(lab.folder, "Pulumi.test.yaml");

const availableGiB = (): number =>
  Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) / 1024 ** 2;

/** What one command line did to a stack of so many containers. */
interface Row {
  readonly size: number;
  readonly what: string;
  readonly seen: Observed;
  readonly traffic: Traffic;
  /** Log-ins that sshd took. */
  readonly logins: number;
  /** Processes that the host made, its containers' among them. */
  readonly processes: number;
}

const rows: Row[] = [];

const loginsSinceBoot = (): number =>
  Number(lab.onHost("journalctl -b --no-pager -q | grep -c 'Accepted publickey' || true"));

/** Runs a command line on the stack and keeps what it took; false when it failed. */
async function measure(size: number, what: string, line: string): Promise<boolean> {
  process.stderr.write(`${size} containers: ${what}\n`);
  const logins = loginsSinceBoot();
  // A look makes processes too.
  const earlier = newestProcess(lab);
  const before = newestProcess(lab);
  const recorder = new TrafficRecorder(lab.subnet);
  await recorder.listening();
  const seen = await observe("bash", ["-c", line], { cwd: PROJECT, env });
  const traffic = await recorder.stop();
  const processes = newestProcess(lab) - before - (before - earlier);
  // Each look since the first is a log-in as well.
  rows.push({ size, what, seen, traffic, logins: loginsSinceBoot() - logins - 4, processes });
  process.stderr.write(`  ${JSON.stringify({ ...rows.at(-1), seen: { ...seen, output: "" } })}\n`);
  if (seen.status !== 0) process.stderr.write(`${seen.output.slice(-4000)}\n`);
  return seen.status === 0;
}

const pulumi = (words: string): string =>
  `. engine/env.sh && exec pulumi ${words} --stack test --config-file ${shellWord(stackFile)} --non-interactive --color never --suppress-outputs`;

function change(size: number): void {
  lab.reset();
  lab.edit((file) => {
    makeMany(file, size, "bare");
  });
}

const UP = pulumi("up --yes --skip-preview");

/** What of the machine keeps so many containers from starting; undefined when nothing does. */
function lacking(size: number): string | undefined {
  const instances = Number(readFileSync(INOTIFY_INSTANCES, "utf8"));
  if (instances < size * INSTANCES_EACH)
    return `they need fs.inotify.max_user_instances of ${size * INSTANCES_EACH}, here it is ${instances}`;
  const memory = MEMORY_FLOOR + size * GIB_EACH;
  return availableGiB() < memory ? `they need ${memory.toFixed(1)} GiB of free memory` : undefined;
}

/** Deploys so many containers, looks, and takes them away again; whether all of it worked. */
async function deployed(size: number): Promise<boolean> {
  change(size);
  const worked =
    (await measure(size, "up", UP)) &&
    (await measure(size, "up, nothing to do", UP)) &&
    (await measure(size, "preview", pulumi("preview"))) &&
    (await measure(size, "drift", `exec ./stack drift ${shellWord(stackFile)}`));
  process.stdout.write(
    `With ${size} containers up, the machine had ${availableGiB().toFixed(1)} GiB left.\n\n`,
  );
  change(0);
  await measure(size, "away again", UP);
  return worked;
}

const named = ({ what, seen }: Row): string => (seen.status === 0 ? what : `${what}: failed`);

function timeTable(): string {
  return table(
    ["containers", "what", "s", "s each", "CPU s: program", "engine", "providers", "MiB: program", "engine"],
    rows.map((row) => {
      const { program, engine, providers } = row.seen.programs;
      return [
        row.size,
        named(row),
        row.seen.seconds.toFixed(1),
        (row.seen.seconds / row.size).toFixed(2),
        ...[program, engine, providers].map(({ cpu }) => cpu.toFixed(1)),
        ...[program, engine].map(({ peakMiB }) => peakMiB.toFixed(0)),
      ];
    }),
  );
}

/**
 * Steps that are run on the host. A container without anything in it has two, claim and attach; what only the claim left is taken away
 * again; drift looks at all steps, the driver's five too.
 */
function stepsOf({ what, size }: Row): number {
  if (what === "up") return 2 * size;
  if (what === "drift") return 2 * size + 5;
  return what === "away again" ? size : 0;
}

function trafficTable(): string {
  return table(
    [
      "containers",
      "what",
      "steps",
      "SSH connections",
      "log-ins",
      "KiB sent",
      "KiB received",
      "processes on the host",
    ],
    rows.map((row) => [
      row.size,
      named(row),
      stepsOf(row),
      row.traffic.connections,
      row.logins,
      (row.traffic.sent / 1024).toFixed(0),
      (row.traffic.received / 1024).toFixed(0),
      row.processes,
    ]),
  );
}

async function run(): Promise<void> {
  lab.up();
  // The driver is not what is measured.
  change(0);
  lab.deploy();
  for (const size of SIZES) {
    const reason = lacking(size);
    if (reason === undefined && (await deployed(size))) continue;
    process.stdout.write(
      `This machine does not carry ${size} containers: ${reason ?? "see what failed"}.\n\n`,
    );
    break;
  }
  process.stdout.write(`### Time and memory\n\n${timeTable()}### What goes over SSH\n\n${trafficTable()}`);
}

run()
  .finally(() => {
    lab.down();
  })
  .catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
