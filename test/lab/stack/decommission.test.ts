import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ask, initStack, PROJECT, useLab } from "./lab-stack";

// Bare: tar takes folders that lie in two layers for changed while it reads.
const stack = useLab();
const file = () => join(stack.folder, "Pulumi.test.yaml");

interface Outcome {
  readonly archive: string;
  readonly backups: string[];
  readonly lost: { kind: string; name: string }[];
}

/** A command line in the project with the lab's engine on the PATH. */
function inProject(command: string, ...words: string[]) {
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", `. engine/env.sh && ${command}`, "x", ...words],
    {
      cwd: PROJECT,
      encoding: "utf8",
      env: { ...process.env, LAB_DIR: stack.folder },
    },
  );
  return { status, stdout, stderr };
}

function decommission(...flags: string[]): { status: number | null; outcome: Outcome; progress: string } {
  const { status, stdout, stderr } = inProject(
    'exec ./stack decommission "$@"',
    file(),
    "--yes",
    "test",
    "--json",
    ...flags,
  );
  if (!stdout.startsWith("{")) throw new Error(`no outcome, exit ${status}:\n${stderr}`);
  return { status, outcome: JSON.parse(stdout) as Outcome, progress: stderr };
}

const stacks = () => inProject("pulumi stack ls --json").stdout;

describe("a planned end", () => {
  let outcome: Outcome;

  beforeAll(() => {
    stack.deploy();
    stack.inContainer("sh -c 'echo precious > /root/mark'");
  });

  it("refuses a storage that holds no backups before anything is destroyed", () => {
    expect(() => decommission("--backup", "local-lvm")).toThrow(/could not be backed up: .*local-lvm/);
    expect(stack.onHost("pct status 129")).toMatch(/^status: /);
    expect(stack.inContainer("systemctl is-enabled sglang-qwen || true")).toBe("disabled");
  });

  it("stops the service, backs the container up and destroys it, protected as it is", () => {
    const result = decommission("--backup", "local");
    outcome = result.outcome;
    expect(result.progress).toMatch(/ends the requests that it is answering/);
    expect(stack.onHost("pct list")).toBe("");
    expect(stacks()).toBe("[]\n");
  });

  it("leaves a backup that holds the container's data and configuration, and not the models", () => {
    const listing = stack.onHost(`tar tf ${outcome.backups[0] ?? ""}`).split("\n");
    expect(listing).toContain("./root/mark");
    expect(listing).toContain("./etc/vzdump/pct.conf");
    expect(listing.filter((line) => /^\.\/models\/./.test(line))).toEqual([]);
  });

  it("leaves driver and models on the host", () => {
    expect(stack.onHost("nvidia-smi -L")).toContain("GPU-3c1f7a52");
    expect(stack.onHost("ls /srv/models/qwen3.6-tiny")).toContain("config.json");
    expect(outcome.lost.map(({ kind }) => kind)).toEqual(["container", "environment", "service"]);
  });

  it("keeps the state aside, with its secrets encrypted", () => {
    const text = readFileSync(outcome.archive, "utf8");
    expect(text).toContain("::ml-container");
    expect(text).not.toMatch(/lab-root-pw|OPENSSH PRIVATE KEY/);
  });

  it("leaves a stack file that previews, and that `up` refuses", () => {
    initStack("test", stack.folder, { ...process.env, LAB_DIR: stack.folder });
    expect(stack.pulumi("preview")).toMatchObject({ status: 0 });
    const up = stack.pulumi("up", "--yes", "--skip-preview");
    expect(up.status).not.toBe(0);
    expect(up.output).toMatch(/retired.*the stack was taken out of service/);
  });

  it("can be taken back: without the key, `up` brings the service to answer", async () => {
    stack.reset();
    stack.deploy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
  });
});

describe("a host that lost its power for good", () => {
  it("is not waited for: its state is archived and removed, the file marked", () => {
    stack.lab("kill", "pve1");
    const begun = Date.now();
    const { status, outcome } = decommission("--dead");
    expect(Date.now() - begun).toBeLessThan(60_000);
    expect(status).toBe(0);
    expect(outcome.lost.map(({ kind }) => kind)).toEqual(["container", "environment", "service", "model"]);
    expect(readFileSync(outcome.archive, "utf8")).toContain("::ml-container");
    expect(stacks()).toBe("[]\n");
    expect(readFileSync(file(), "utf8")).toMatch(/^ {2}proxmox-gpu-stack:retired: "/m);
  });
});
