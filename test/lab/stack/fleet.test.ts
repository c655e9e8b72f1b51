import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { initStack, PROJECT, useLab, type StackFile } from "./lab-stack";

const lab = useLab();

/** Last octets of each host's address and of its container's. */
const HOSTS = { pve1: [5, 150], pve2: [6, 151], pve3: [7, 152] } as const;
type Name = keyof typeof HOSTS;
const NAMES = Object.keys(HOSTS) as Name[];

interface Outcome {
  readonly stack: string;
  readonly result: string;
  readonly changes: Record<"create" | "update" | "replace" | "delete" | "same", number>;
  readonly log: string | null;
  readonly failures: { message: string; fix: string }[];
}

interface Looked {
  readonly stack: string;
  readonly result: string;
  readonly checked: number;
  readonly rows: { where: string; step: string }[];
  readonly error: string | null;
}

const environment = () => ({
  ...process.env,
  LAB_DIR: lab.folder,
  LAB_SUBNET: lab.subnet,
  XDG_STATE_HOME: join(lab.folder, "logs"),
});
const fileOf = (name: Name): string => join(lab.folder, `Pulumi.${name}.yaml`);

/** The lab's stack on one of the hosts: driver and container, which are there in a minute. */
function makeStack(name: Name): void {
  const [host, container] = HOSTS[name];
  const { encryptionsalt } = parse(readFileSync(initStack(name, lab.folder, environment()), "utf8")) as {
    encryptionsalt: string;
  };
  const text = readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8")
    .replaceAll("10.77.0.", `${lab.subnet}.`)
    .replaceAll("file:.lab/", `file:${lab.folder}/`)
    .replace("node: pve1", `node: ${name}`)
    .replace(`address: ${lab.subnet}.5`, `address: ${lab.subnet}.${host}`)
    .replace(`${lab.subnet}.129/24`, `${lab.subnet}.${container}/24`);
  const { config } = parse(text) as { config: StackFile };
  for (const key of ["environments", "models", "services"]) delete config[`proxmox-gpu-stack:${key}`];
  writeFileSync(fileOf(name), stringify({ encryptionsalt, config }));
}

/** `./stack fleet` as a user runs it. */
function fleet<T>(
  verb: string,
  ...words: string[]
): { status: number | null; stacks: T[]; progress: string } {
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", '. engine/env.sh && exec ./stack fleet "$@"', "stack", verb, ...words, "--json"],
    { cwd: PROJECT, encoding: "utf8", env: environment() },
  );
  if (!stdout.startsWith("{")) throw new Error(`no report, exit ${status}:\n${stderr}`);
  return { status, stacks: (JSON.parse(stdout) as { stacks: T[] }).stacks, progress: stderr };
}

const results = (stacks: readonly { stack: string; result: string }[]) =>
  Object.fromEntries(stacks.map(({ stack, result }) => [stack, result]));

describe("a fleet of three hosts, of which one has no power", () => {
  beforeAll(() => {
    const { status, output } = lab.lab("up", "pve2", "pve3");
    if (status !== 0) throw new Error(output);
    NAMES.forEach(makeStack);
    lab.lab("kill", "pve3");
  });

  it("previews all, because a preview dials nobody", () => {
    const { status, stacks } = fleet<Outcome>("preview", ...NAMES.map(fileOf));
    expect(results(stacks)).toEqual({ pve1: "would change", pve2: "would change", pve3: "would change" });
    expect(new Set(stacks.map(({ changes }) => changes.create)).size).toBe(1);
    expect(status).toBe(2);
  });

  it("deploys the others side by side, names the dead one, and exits 4", () => {
    const before = NAMES.map((name) => readFileSync(fileOf(name), "utf8"));
    const { status, stacks, progress } = fleet<Outcome>("up", "--yes", ...NAMES.map(fileOf));
    expect({ status, ...results(stacks) }).toEqual({
      status: 4,
      pve1: "done",
      pve2: "done",
      pve3: "unreachable",
    });
    expect(stacks[2]?.failures[0]?.message).toMatch(
      new RegExp(`^pve3 \\(${lab.subnet}\\.7:22\\) cannot be reached: .*; nothing was changed there$`),
    );
    // Both were at work at the same time.
    const firstEnd = progress.search(/^pve[12] +done/m);
    for (const name of ["pve1", "pve2"]) {
      const begun = progress.indexOf(`${name}  creating driver-install`);
      expect(begun).toBeGreaterThan(0);
      expect(begun).toBeLessThan(firstEnd);
    }
    expect(progress).toMatch(/^pve3 {2}unreachable$/m);
    expect(NAMES.map((name) => readFileSync(fileOf(name), "utf8"))).toEqual(before);
  });

  it("leaves nothing of the others undone: what they have is what is declared", () => {
    const { status, stacks } = fleet<Outcome>("preview", ...NAMES.map(fileOf));
    expect(results(stacks)).toEqual({ pve1: "no change", pve2: "no change", pve3: "would change" });
    expect(status).toBe(2);
    for (const host of ["pve1", "pve2"])
      expect(lab.lab("shell", host, "pct exec 129 -- nvidia-smi -L").output).toMatch(/^GPU 0: /m);
  });

  it("keeps a log of each stack without its secrets", () => {
    const { stacks } = fleet<Outcome>("up", "--yes", fileOf("pve1"), fileOf("pve3"));
    expect(results(stacks)).toEqual({ pve1: "done", pve3: "unreachable" });
    const log = stacks[0]?.log ?? "";
    expect(existsSync(log) && statSync(log).mode & 0o777).toBe(0o600);
    const text = readFileSync(log, "utf8");
    expect(text).toContain("unchanged");
    expect(text).not.toMatch(/lab-root-pw|PRIVATE KEY/);
  });

  it("finds no drift where it can look, and exits 4", () => {
    const { status, stacks } = fleet<Looked>("drift", ...NAMES.map(fileOf));
    expect({ status, ...results(stacks) }).toEqual({
      status: 4,
      pve1: "as declared",
      pve2: "as declared",
      pve3: "unreachable",
    });
    expect(stacks[0]?.checked).toBeGreaterThan(5);
    expect(stacks[2]?.error).toContain(`${lab.subnet}.7 cannot be reached over SSH`);
  });

  it("finds drift on the host that has it, and exits 2", () => {
    lab.lab("shell", "pve2", "pct stop 129");
    const { status, stacks } = fleet<Looked>("drift", ...NAMES.map(fileOf));
    expect({ status, ...results(stacks) }).toEqual({
      status: 2,
      pve1: "as declared",
      pve2: "drift",
      pve3: "unreachable",
    });
    expect(stacks[1]?.rows.map(({ step }) => step)).toContain("ml-attach");
    // Nothing was changed.
    expect(lab.lab("shell", "pve2", "pct status 129").output).toContain("stopped");
  });
});
