import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { Checkout } from "./checkout";
import { usePreparedLab } from "./deployed-lab";
import { ask, PROJECT, type StackFile } from "./lab-stack";

const PAGE = readFileSync(join(PROJECT, "docs", "how-to", "back-up-and-restore.md"), "utf8");
const FILE = "Pulumi.test.yaml";
const LOCK = "lab-sglang-0.5.11";

const stack = usePreparedLab();
let checkout: Checkout;
/** What somebody keeps elsewhere: the stack file (git), the state, the passphrase, the wheels. */
let kept = "";

/** The commands of the page's section, for this lab: its names and addresses, its keys. */
function commands(section: string, more: Readonly<Record<string, string>> = {}): string {
  const text = PAGE.split(/^## /m).find((part) => part.startsWith(`${section}\n`));
  const block = /```\n([^`]*)```/.exec(text ?? "")?.[1];
  if (block === undefined) throw new Error(`the page has no commands below "${section}"`);
  const replaced = {
    "kpro5.state.json": join(kept, "test.state.json"),
    "~/kpro5.passphrase": join(kept, "passphrase"),
    kpro5: "test",
    "fetch qwen36-sglang-0.5.11": `fetch ${LOCK} --index http://${stack.subnet}.1:3141/simple`,
    "qwen36-sglang-0.5.11": LOCK,
    "root@10.1.2.5": `root@${stack.subnet}.5 --identity ${join(stack.folder, "client_ed25519")}`,
    ...more,
  };
  return Object.entries(replaced).reduce((lines, [from, to]) => lines.replaceAll(from, to), block);
}

/** Runs lines of shell in the checkout; the passphrase is the one in the file, not the lab's own variable. */
const run = (lines: string) =>
  checkout.run(`unset PULUMI_CONFIG_PASSPHRASE\n${lines}`, {
    PULUMI_CONFIG_PASSPHRASE_FILE: join(kept, "passphrase"),
    PROXMOX_GPU_STACK_WHEELHOUSE: join(kept, "wheelhouse"),
  });
function must(lines: string): string {
  const { status, output } = run(lines);
  if (status !== 0) throw new Error(`exit ${status}: ${lines}\n${output}`);
  return output;
}

const answer = () => ask(stack.endpoint(), "What is 2 and 2?");
const server = () => stack.inContainer("systemctl show -P MainPID sglang-qwen");

/** The lab's stack file with a wheelhouse and encrypted secrets, as a real host's file has them. */
function writeStackFile(): void {
  const { config, ...rest } = parse(readFileSync(join(stack.folder, FILE), "utf8")) as { config: StackFile };
  const {
    "proxmox-gpu-stack:apiPassword": password,
    "proxmox-gpu-stack:sshPrivateKey": key,
    ...open
  } = config;
  const declared = { ...open, "proxmox-gpu-stack:wheelhouse": { path: "/srv/wheelhouse" } };
  writeFileSync(checkout.path(FILE), stringify({ ...rest, config: declared }));
  writeFileSync(join(kept, "password"), String(password));
  writeFileSync(join(kept, "key"), String(key));
  for (const [name, file] of [
    ["apiPassword", "password"],
    ["sshPrivateKey", "key"],
  ])
    must(`pulumi config set --stack test --secret proxmox-gpu-stack:${name} < ${join(kept, file ?? "")}`);
}

/** The machine that the stack was worked from is gone: a new one has git's files only. */
function startAnew(): void {
  rmSync(join(stack.folder, "pulumi-state"), { recursive: true, force: true });
  checkout.renew();
  copyFileSync(join(kept, FILE), checkout.path(FILE));
}

beforeAll(() => {
  kept = mkdtempSync(join(stack.folder, "kept-"));
  mkdirSync(join(kept, "wheelhouse"));
  writeFileSync(join(kept, "passphrase"), "lab\n");
  checkout = new Checkout(stack);
  writeStackFile();
  must(commands("Back up").replace(/^pulumi stack export.*$/m, ""));
  must("./stack wheelhouse push test && pulumi up --stack test --skip-preview");
});

describe("a backup by the page's commands", () => {
  it("holds state and wheels, and no secret that can be read", async () => {
    expect(await answer()).toMatch(/\b(4|four)\b/i);
    must(commands("Back up"));
    copyFileSync(checkout.path(FILE), join(kept, FILE));
    const state = readFileSync(join(kept, "test.state.json"), "utf8");
    expect(state).toContain("::ml-container");
    const texts = [state, readFileSync(join(kept, FILE), "utf8")];
    for (const text of texts) expect(text).not.toMatch(/lab-root-pw|BEGIN OPENSSH/);
  });
});

describe("a lost state, by the page's commands", () => {
  it("stays lost with another passphrase: Pulumi says that it is not the right one", () => {
    startAnew();
    writeFileSync(join(kept, "wrong"), "another\n");
    const passphrase = { [join(kept, "passphrase")]: join(kept, "wrong") };
    const { status, output } = run(commands("The state is lost, the host is as it was", passphrase));
    expect(status).not.toBe(0);
    expect(output).toMatch(/passphrase/i);
  });

  it("is back with the right one: nothing to do, no drift, the server never noticed", async () => {
    startAnew();
    const before = server();
    must(commands("The state is lost, the host is as it was"));
    expect(server()).toBe(before);
    expect(await answer()).toMatch(/\b(4|four)\b/i);
  });
});

describe("a lost host, with a bare one in its place, by the page's commands", () => {
  let output = "";

  beforeAll(() => {
    stack.lab("kill", "pve1");
    stack.lab("down", "pve1");
    stack.lab("up", "pve1");
    // What a person reads on the host's console.
    const hostKey = stack.onHost("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
    output = must(
      commands("The host is lost", {
        "ssh-ed25519 AAAA…": hostKey,
        "--dead ": "--dead --yes test ",
      }),
    );
  });

  it("says what was lost with it", () => {
    for (const line of [
      "container ml: 129",
      "service qwen: ",
      "model qwen36: lab/qwen3.6-tiny",
      "wheelhouse /srv/wheelhouse: ",
    ])
      expect(output).toContain(line);
    expect(output).toMatch(/Nothing is dialled/);
  });

  it("answers again, from wheels of the backup, with nothing left to do", async () => {
    expect(await answer()).toMatch(/\b(4|four)\b/i);
    expect(stack.onHost("ls /srv/wheelhouse/files | wc -l")).not.toBe("0");
    must("pulumi preview --stack test --expect-no-changes");
  });
});
