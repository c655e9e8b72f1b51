/** A fleet of three hosts from its first `up` to the loss of one, whose service then answers from another. */
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { ask, initStack, labStackText, LabStack, PROJECT } from "./lab-stack";

type Entry = Record<string, unknown>;
interface StackFile {
  encryptionsalt?: string;
  config: Record<string, Entry>;
}

const lab = new LabStack();
const environment = {
  ...process.env,
  LAB_DIR: lab.folder,
  LAB_SUBNET: lab.subnet,
  // Where a fleet keeps its logs.
  XDG_STATE_HOME: join(lab.folder, "logs"),
};
jest.setTimeout(900_000);

/** Stacks by name: the host of each, and the last octets of host and container. */
const HOSTS = {
  one: { node: "pve1", host: 5, container: 129 },
  two: { node: "pve2", host: 6, container: 130 },
  three: { node: "pve3", host: 7, container: 131 },
} as const;
type Name = keyof typeof HOSTS;
const NAMES = Object.keys(HOSTS) as Name[];

const fileOf = (name: Name) => join(lab.folder, `Pulumi.${name}.yaml`);
const key = (name: string) => `proxmox-gpu-stack:${name}`;

/** Changes a stack file and keeps all else in it. */
function edit(name: Name, change: (config: Record<string, Entry>) => void): void {
  const content = parse(readFileSync(fileOf(name), "utf8")) as StackFile;
  change(content.config);
  writeFileSync(fileOf(name), stringify(content));
}

/** The lab's stack on another host; only the first one serves. */
function declare(name: Name): void {
  const { node, host, container } = HOSTS[name];
  initStack(name, lab.folder, environment);
  const { encryptionsalt } = parse(readFileSync(fileOf(name), "utf8")) as StackFile;
  const text = labStackText(lab)
    .replaceAll(`${lab.subnet}.129`, `${lab.subnet}.${container}`)
    .replaceAll(`address: ${lab.subnet}.5`, `address: ${lab.subnet}.${host}`)
    .replaceAll("pve1", node);
  const { config } = parse(text) as StackFile;
  const without = name === "one" ? [] : ["services", "models", "environments"].map(key);
  writeFileSync(
    fileOf(name),
    stringify({
      encryptionsalt,
      config: Object.fromEntries(Object.entries(config).filter(([k]) => !without.includes(k))),
    }),
  );
}

/** `./stack WORDS`, with the lab's engine on the PATH. */
function stack(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", '. engine/env.sh && exec ./stack "$@"', "stack", ...words],
    { cwd: PROJECT, env: environment, encoding: "utf8", maxBuffer: 1 << 28 },
  );
  return { status, stdout, stderr };
}

interface FleetReport {
  readonly stacks: {
    readonly stack: string;
    readonly result: string;
    readonly changes: Record<string, number>;
    readonly log: string | null;
    readonly failures: { message: string }[];
    /** Of a drift only. */
    readonly error?: string;
  }[];
}

/** `./stack fleet VERB` on the three stacks, or some of them. */
function fleet(verb: string, names: readonly Name[] = NAMES) {
  const more = verb === "up" ? ["--yes"] : [];
  const { status, stdout, stderr } = stack("fleet", verb, ...names.map(fileOf), "--json", ...more);
  if (!stdout.startsWith("{")) throw new Error(`fleet ${verb}, exit ${status}:\n${stdout}${stderr}`);
  return { status, report: JSON.parse(stdout) as FleetReport, progress: stderr };
}

const results = ({ report }: ReturnType<typeof fleet>) =>
  Object.fromEntries(report.stacks.map(({ stack: name, result }) => [name, result]));

/** Stacks on whose host something was changed. */
const changedOn = ({ report }: ReturnType<typeof fleet>) =>
  report.stacks
    .filter(({ changes }) => Object.entries(changes).some(([what, count]) => what !== "same" && count > 0))
    .map(({ stack: name }) => name);

function on(name: Name, command: string): string {
  return lab.lab("shell", HOSTS[name].node, command).trim();
}

const service = (name: Name) =>
  ask(`http://${lab.subnet}.${HOSTS[name].container}:30000`, "What is 2 and 2?");

beforeAll(() => {
  lab.up();
  lab.lab("up", "pve2=6", "pve3=7");
  for (const name of NAMES) declare(name);
});
afterAll(() => {
  lab.down();
});

describe("three bare hosts", () => {
  it("are previewed together; nobody is logged in to", () => {
    const logins = () =>
      NAMES.map((name) => Number(on(name, "journalctl -b -q | grep -c 'Accepted publickey'")));
    const before = logins();
    expect(results(fleet("preview"))).toEqual({
      one: "would change",
      two: "would change",
      three: "would change",
    });
    // Counting them is one more each.
    expect(logins()).toEqual(before.map((count) => count + 1));
  });

  it("are deployed side by side, and the service of the first answers; no stack file is written to", async () => {
    const before = NAMES.map((name) => readFileSync(fileOf(name), "utf8"));
    const up = fleet("up");
    expect(up.status).toBe(0);
    expect(results(up)).toEqual({ one: "done", two: "done", three: "done" });
    const firstEnd = up.progress.search(/^(one|two|three) +done/m);
    for (const name of NAMES) {
      const begun = up.progress.search(new RegExp(`^${name} +creating driver-install`, "m"));
      expect(begun).toBeGreaterThan(0);
      expect(begun).toBeLessThan(firstEnd);
    }
    expect(await service("one")).toMatch(/\b(4|four)\b/i);
    expect(NAMES.map((name) => readFileSync(fileOf(name), "utf8"))).toEqual(before);
    for (const { log } of up.report.stacks) {
      expect(statSync(log ?? "").mode & 0o777).toBe(0o600);
      expect(readFileSync(log ?? "", "utf8")).not.toMatch(/lab-root-pw|PRIVATE KEY/);
    }
  });

  it("have nothing to change and no drift afterwards", () => {
    expect(results(fleet("preview"))).toEqual({ one: "no change", two: "no change", three: "no change" });
    expect(fleet("drift").status).toBe(0);
  });
});

describe("drift on each of them", () => {
  beforeAll(() => {
    on(
      "one",
      "pct exec 129 -- sed -i 's/^RestartSec=.*/RestartSec=1/' /etc/systemd/system/sglang-qwen.service",
    );
    on("two", "pct set 129 --memory 5120");
    on("three", "rm /etc/modprobe.d/*nouveau*");
  });

  it("is told in one report, stack by stack, and nothing is changed", () => {
    const { status, stdout } = stack("fleet", "drift", ...NAMES.map(fileOf));
    expect(status).toBe(2);
    expect(stdout).toMatch(/one[^]*qwen-service[^]*two[^]*memory[^]*three[^]*nouveau/);
    expect(on("two", "pct config 129")).toContain("memory: 5120");
  });

  it("is repaired host by host", () => {
    for (const name of NAMES) expect(stack("drift", fileOf(name), "--repair").status).toBe(0);
    expect(fleet("drift").status).toBe(0);
  });
});

describe("a host that is down", () => {
  beforeAll(() => {
    lab.lab("kill", "pve3");
    for (const name of NAMES)
      edit(name, (config) => {
        Object.assign(config[key("containers")]?.ml as Entry, { tags: ["gpu", "fleet"] });
      });
  });

  it("does not keep the others from their up, and is named with the way on", () => {
    const up = fleet("up");
    expect(results(up)).toEqual({ one: "done", two: "done", three: "unreachable" });
    expect(up.status).toBe(4);
    const { failures = [] } = up.report.stacks.find(({ stack: name }) => name === "three") ?? {};
    expect(failures[0]?.message).toMatch(
      new RegExp(`^pve3 \\(${lab.subnet}\\.7:22\\) cannot be reached: .*; nothing was changed there$`),
    );
    for (const name of ["one", "two"] as const)
      expect(on(name, "pct config 129")).toContain("tags: fleet;gpu");
  });

  it("is no drift, and does not hide that of others", () => {
    const drift = fleet("drift");
    expect(drift.status).toBe(4);
    expect(results(drift)).toEqual({ one: "as declared", two: "as declared", three: "unreachable" });
    expect(drift.report.stacks[2]?.error).toContain(`${lab.subnet}.7 cannot be reached over SSH`);
    on("two", "pct stop 129");
    const other = fleet("drift");
    expect(other.status).toBe(2);
    expect(results(other)).toEqual({ one: "as declared", two: "drift", three: "unreachable" });
    expect(on("two", "pct status 129")).toBe("status: stopped");
    on("two", "pct start 129");
  });

  it("catches up when it is back", () => {
    lab.lab("start", "pve3");
    const up = fleet("up");
    expect(changedOn(up)).toEqual(["three"]);
    expect(up.status).toBe(0);
    expect(on("three", "pct config 129")).toContain("tags: fleet;gpu");
  });
});

describe("a host that is gone for good", () => {
  it("is taken out of service without being dialled; what was lost is listed", () => {
    lab.lab("kill", "pve1");
    const { status, stdout } = stack("decommission", fileOf("one"), "--dead", "--yes", "one", "--json");
    expect(status).toBe(0);
    const { lost } = JSON.parse(stdout) as { lost: { kind: string; name: string }[] };
    expect(lost.map(({ kind }) => kind)).toEqual(["container", "environment", "service", "model"]);
  });

  it("leaves its service to another host, where every rule holds; what stays behind is told, and the result previews", () => {
    const { status, stdout } = stack("rehome", fileOf("one"), fileOf("two"));
    expect(status).toBe(0);
    // The package index and the hub have private addresses, which may belong to the network of the first host.
    expect(stdout).toMatch(/environments\.ml-env\.index/);
    expect(stdout).toMatch(/models\.qwen36\.endpoint/);
    expect(results(fleet("preview", ["two", "three"]))).toEqual({ two: "would change", three: "no change" });
  });

  it("which then answers from there", async () => {
    edit("two", (config) => {
      Object.assign(config[key("environments")]?.["ml-env"] as Entry, {
        index: `http://${lab.subnet}.1:3141/simple`,
      });
      Object.assign(config[key("models")]?.qwen36 as Entry, { endpoint: `http://${lab.subnet}.1:8090` });
    });
    const up = fleet("up", ["two", "three"]);
    expect(up.report.stacks.flatMap(({ failures }) => failures)).toEqual([]);
    expect(changedOn(up)).toEqual(["two"]);
    expect(await service("two")).toMatch(/\b(4|four)\b/i);
  });
});
