/**
 * From a bare host to an answering service, with nothing to do, and with one changed flag: our stack beside the playbook of ansible/
 * and the plain scripts of shell/. Each gets a host of its own, made just before, on the same lab. README.md says what is compared.
 *
 * BENCH_DEPLOYMENTS (default 3) is how often each deploys, by turns; BENCH_RUNS (default 5) how often what changes nothing is
 * measured; KEEP_LAB=1 leaves the lab up.
 *
 *   node -r ./cli/typescript.js bench/deploy.ts     prints Markdown; progress is on standard error
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LabStack, PROJECT } from "../test/lab/stack/lab-stack";
import { shellWord } from "../plan/script";
import { emptyProject } from "./empty-project";
import { secondsToFirstAnswer } from "./first-answer";
import { flagChange } from "./flag";
import { comparison, goal, hyperfine, measured, seconds, table, type Measured } from "./hyperfine";
import { installAnsible, playbook } from "./playbook";
import { newestProcess, TrafficRecorder, type Traffic } from "./traffic";

const RUNS = process.env.BENCH_RUNS ?? "5";
const DEPLOYMENTS = Number(process.env.BENCH_DEPLOYMENTS ?? "3");
const STACK = "./stack";
const ANSIBLE = "Ansible";
const SHELL = "plain scripts";

const lab = new LabStack();
const environment = { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: lab.subnet };
const stackFile = join(lab.folder, "Pulumi.test.yaml");
const controls = mkdtempSync(join(tmpdir(), "bench-ssh-"));

/** A command line of this project's folder; throws when it fails. */
function must(command: string): void {
  const { status } = spawnSync("bash", ["-c", command], {
    cwd: PROJECT,
    env: environment,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}

const pulumi = (words: string): string =>
  `. engine/env.sh && pulumi ${words} --stack test --config-file ${shellWord(stackFile)} --non-interactive --color never`;

/** Without their sockets, connections of before are not found any more. */
function forgetConnections(): void {
  rmSync(controls, { recursive: true, force: true });
}

/** Another host in the place of the last one: bare, and nobody connected to it. */
function freshHost(): void {
  must("lab/lab down pve1 && lab/lab up");
  forgetConnections();
  rmSync(join(lab.folder, "known_hosts_containers"), { force: true });
}

const UP = pulumi("up --yes --skip-preview");
const deployments: Readonly<Record<string, string>> = {
  [STACK]: UP,
  [ANSIBLE]: playbook(controls),
  [SHELL]: "bench/shell/deploy",
};

/** What each costs when there is nothing to do; the plain scripts cannot be run twice. */
const noOps: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [STACK]: {
    "pulumi up --skip-preview": UP,
    "pulumi up": pulumi("up --yes"),
    "./stack drift": `./stack drift ${shellWord(stackFile)}`,
  },
  [ANSIBLE]: { "ansible-playbook": playbook(controls) },
};

const EMPTY = "pulumi up --skip-preview of a program that does nothing";

const emptyUp = (): string =>
  `. engine/env.sh && pulumi up --yes --skip-preview ${emptyProject(lab.folder, environment)} --non-interactive`;

interface Counted {
  readonly what: string;
  readonly traffic: Traffic;
  readonly processes: number;
}

/** Runs a command line that reboots nothing, and counts what it does to the host. */
async function counted(what: string, command: string): Promise<Counted> {
  // A look makes processes too.
  const earlier = newestProcess(lab);
  const before = newestProcess(lab);
  const recorder = new TrafficRecorder(lab.subnet);
  await recorder.listening();
  must(command);
  const traffic = await recorder.stop();
  return { what, traffic, processes: newestProcess(lab) - before - (before - earlier) };
}

function countTable(rows: readonly Counted[]): string {
  return table(
    ["what", "SSH connections", "KiB sent", "KiB received", "processes on the host"],
    rows.map(({ what, traffic, processes }) => [
      what,
      traffic.connections,
      Math.round(traffic.sent / 1024),
      Math.round(traffic.received / 1024),
      processes,
    ]),
  );
}

/** Seconds of each deployment of one way. */
interface Deployments {
  readonly answered: number[];
  readonly ended: number[];
}

/** From a bare host and an empty state to the first answer, and to the end of the command. */
async function deployFromBare(name: string, seen: Deployments): Promise<Traffic> {
  freshHost();
  if (name === STACK) lab.forget();
  const recorder = new TrafficRecorder(lab.subnet);
  await recorder.listening();
  const failed = new AbortController();
  const ended = seconds("bash", ["-c", deployments[name] ?? ""], environment);
  ended.catch(() => {
    failed.abort();
  });
  const [answered, whole] = await Promise.all([secondsToFirstAnswer(lab.endpoint(), failed.signal), ended]);
  process.stderr.write(`${name}: answers after ${answered} s, ended after ${whole} s\n`);
  seen.answered.push(answered);
  seen.ended.push(whole);
  return recorder.stop();
}

/** What a way costs that has just deployed and has nothing to do. */
async function idleCosts(name: string): Promise<{ idle: Measured[]; counts: Counted[] }> {
  const ways = Object.entries(noOps[name] ?? {});
  const measuredToo = name === STACK ? [[EMPTY, emptyUp()] as const] : [];
  const lines = [...ways, ...measuredToo].map(([way, line]) => ({
    name: way,
    command: `bash -c ${shellWord(line)}`,
  }));
  const idle =
    lines.length === 0 ? [] : hyperfine(lines, { runs: RUNS, warmup: 1, environment, cwd: PROJECT });
  const counts: Counted[] = [];
  for (const [way, line] of ways) {
    forgetConnections();
    counts.push(await counted(`${way}: nothing to do`, line));
  }
  return { idle, counts };
}

async function run(): Promise<void> {
  installAnsible();
  lab.up();
  const names = Object.keys(deployments);
  const seen = new Map(names.map((name) => [name, { answered: [], ended: [] } as Deployments]));
  const idle: Measured[] = [];
  const counts: Counted[] = [];
  for (let round = 1; round <= DEPLOYMENTS; round++) {
    // Whoever comes first meets the coldest files: each in its turn.
    const turn = names.map((_, at) => names[(at + round - 1) % names.length] ?? "");
    for (const name of turn) {
      const traffic = await deployFromBare(name, seen.get(name) as Deployments);
      if (round < DEPLOYMENTS) continue;
      counts.push({ what: `${name}: from bare`, traffic, processes: newestProcess(lab) });
      const costs = await idleCosts(name);
      idle.push(...costs.idle);
      counts.push(...costs.counts);
      if (name === STACK) process.stdout.write(await flagChange(lab, UP, environment));
    }
  }
  const [answered, ended] = (["answered", "ended"] as const).map((what) =>
    [...seen].map(([name, times]) => measured(name, times[what])),
  ) as [Measured[], Measured[]];
  process.stdout.write(`### From a bare host to the first answer\n\n${comparison(answered, SHELL)}`);
  process.stdout.write(goal("at most 1.15 of the plain scripts", answered, STACK, SHELL, 1.15));
  process.stdout.write(`${goal("at most 0.6 of Ansible", answered, STACK, ANSIBLE, 0.6)}\n`);
  process.stdout.write(`### The whole command, ours with its health gate\n\n${comparison(ended, SHELL)}`);
  process.stdout.write(`### Nothing to do\n\n${comparison(idle, "ansible-playbook")}`);
  process.stdout.write(
    goal("drift ten times faster than the playbook", idle, "./stack drift", "ansible-playbook", 0.1),
  );
  process.stdout.write(
    `${goal("up faster than drift", idle, "pulumi up --skip-preview", "./stack drift", 1)}\n`,
  );
  process.stdout.write(`### What goes over SSH\n\n${countTable(counts)}`);
}

run()
  .finally(() => {
    rmSync(controls, { recursive: true, force: true });
    if (process.env.KEEP_LAB === undefined) lab.down();
    else process.stderr.write(`kept: LAB_DIR=${lab.folder} LAB_SUBNET=${lab.subnet}\n`);
  })
  .catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
