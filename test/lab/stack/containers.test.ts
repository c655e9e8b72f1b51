import { spawnSync } from "node:child_process";

import { parse } from "yaml";

import { inspectStack, PROJECT_DIRECTORY } from "../../../config/load";
import { shellWord, stepCommand, stepInput } from "../../../plan/script";
import { allSteps, planStack } from "../../../plan/stack";
import { containersOf, type Containers } from "./containers";
import { ask, LabStack, PROJECT, type StackFile } from "./lab-stack";

const LEFT = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
const RIGHT = "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2";
const TOKEN = "root@pam!iac=11111111-2222-3333-4444-555555555555";

const stack = new LabStack();
jest.setTimeout(600_000);

const { edit: containers, config, expectNoDrift } = containersOf(stack);
const status = () => stack.onHost("pct status 129");
const devices = () => config().match(/^dev\d+: .*$/gm) ?? [];
const uuids = () => stack.inContainer("nvidia-smi --query-gpu=uuid --format=csv,noheader").split("\n").sort();

/** A command line on the host with something on its standard input. */
function feed(command: string, input: string) {
  const result = spawnSync("lab/lab", ["shell", "pve1", command], {
    cwd: PROJECT,
    env: { ...process.env, LAB_DIR: stack.folder, LAB_SUBNET: stack.subnet },
    input,
    encoding: "utf8",
  });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

/** The stack's own step, as its plan has it now. */
function plannedStep(name: string) {
  const file = stackFileContent();
  const { config: settings, problems } = inspectStack(
    Object.fromEntries(
      Object.entries(file).map(([key, value]) => [
        `proxmox-gpu-stack:${key}`,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    ),
    { source: "test" },
  );
  if (settings === undefined) throw new Error(JSON.stringify(problems));
  const found = allSteps(planStack(settings, PROJECT_DIRECTORY)).find((step) => step.name === name);
  if (!found) throw new Error(`there is no step ${name}`);
  return found;
}

function stackFileContent(): StackFile {
  let content: StackFile = {};
  stack.edit((file) => {
    content = parse(JSON.stringify(file)) as StackFile;
  });
  return content;
}

/** Runs a step as an `up` does, perhaps with another command in front of its shell. */
function runStep(name: string, mode: "apply" | "check" = "apply", before = "") {
  const step = plannedStep(name);
  return feed(stepCommand(step, mode).replace(" bash -s ", ` ${before}bash -s `), stepInput(step));
}

beforeAll(() => {
  stack.up();
  stack.edit((file) => {
    delete file.apiPassword;
    (file as Record<string, unknown>).apiToken = TOKEN;
  });
  containers(({ ml }) => {
    Object.assign(ml ?? {}, {
      tags: ["ml", "gpu"],
      description: "Zwei Karten für das Modell.\nSecond line: 100 % = all",
      startupOrder: 2,
    });
  });
});
afterAll(() => {
  stack.down();
});

describe("a stack with an API token instead of root's password", () => {
  it("comes up whole: a service answers from an unprivileged container", async () => {
    stack.deploy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
    expect(config()).toContain("unprivileged: 1");
    expect(stack.inContainer("cat /proc/1/uid_map")).toMatch(/^\s*0\s+100000\s/);
  });

  it("has what only root may set, and no drift of it after a refresh", () => {
    expect(devices()).toHaveLength(5);
    for (const line of ["features: nesting=1", "startup: order=2", "tags: gpu;ml", "onboot: 1"])
      expect(config()).toContain(line);
    // A bind mount is never in a backup; `backup=1` would claim that it is.
    expect(config()).toContain("mp0: /srv/models,mp=/models,ro=1\n");
    expectNoDrift();
    stack.deploy("--refresh");
    expectNoDrift();
  });
});

describe("the cards in the container", () => {
  const asNobody = (command: string) =>
    feed(
      `pct exec 129 --keep-env 0 -- setpriv --reuid=65534 --regid=65534 --clear-groups ${command}`,
      stepFile("cuda-check.py"),
    );
  const stepFile = (name: string) => plannedStep("ml-cuda-check").texts[name] ?? "";

  it("are open to a user that is not root", () => {
    expect(asNobody("nvidia-smi -L").stdout).toContain(LEFT);
    expect(asNobody("python3 - 2")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(RIGHT) as string,
    });
  });

  it("are closed to it with deviceMode 0660, which changes the running container", () => {
    containers(({ ml }) => Object.assign(ml ?? {}, { deviceMode: "0660" }));
    expect(stack.previewedSteps()).toEqual(["update ml-attach", "update ml-cuda-check"]);
    stack.deploy();
    expect(asNobody("python3 - 2").status).toBe(1);
    containers(({ ml }) => delete ml?.deviceMode);
    stack.deploy();
    expect(asNobody("python3 - 2").status).toBe(0);
  });

  it("without a uvm node fail the check with error 999, although nvidia-smi lists them", () => {
    const hidden =
      'unshare -m sh -c \'mount --bind /etc/hostname /dev/nvidia-uvm; mount -o remount,bind,ro /dev/nvidia-uvm; nvidia-smi -L >&2; exec "$0" "$@"\' ';
    const { status: failed, stderr } = runStep("ml-cuda-check", "apply", hidden);
    expect(failed).toBe(1);
    expect(stderr).toContain(LEFT);
    expect(stderr).toContain("CUDA error 999");
    expect(stderr).toContain("the nvidia-uvm nodes are missing in the container");
  });

  it("with fewer devices for CUDA than declared fail the check with both numbers", () => {
    const hidden = "env CUDA_VISIBLE_DEVICES=0 ";
    const { status: failed, stderr } = runStep("ml-cuda-check", "apply", hidden);
    expect(failed).toBe(1);
    expect(stderr).toContain("CUDA sees 1 devices, declared are 2");
  });
});

describe("resizing", () => {
  it("grows the root disk in place", () => {
    containers(({ ml }) => Object.assign(ml?.rootDisk ?? {}, { sizeGiB: 20 }));
    expect(stack.previewedSteps()).toEqual(["update ml-claim", "update ml-container"]);
    stack.deploy();
    expect(config()).toMatch(/^rootfs: local-lvm:vm-129-disk-0,.*size=20G$/m);
    expectNoDrift();
  });

  it("refuses a smaller root disk before the container is touched", () => {
    const before = config();
    containers(({ ml }) => Object.assign(ml?.rootDisk ?? {}, { sizeGiB: 10 }));
    const { status: failed, output } = stack.pulumi("up", "--yes", "--skip-preview");
    expect(failed).not.toBe(0);
    expect(output).toContain("has 20G, the stack file says 10G; a disk cannot shrink");
    containers(({ ml }) => Object.assign(ml?.rootDisk ?? {}, { sizeGiB: 20 }));
    expect(config()).toBe(before);
    expectNoDrift();
  });

  it.each([
    ["another storage", { rootDisk: { storage: "local", sizeGiB: 20 } }],
    ["a privileged container", { unprivileged: false }],
  ])("refuses %s at preview, because it would replace the container", (_what, change) => {
    const before = config();
    const saved = { ...(stackFileContent().containers as Containers).ml };
    containers(({ ml }) => Object.assign(ml ?? {}, change));
    const preview = stack.pulumi("preview");
    expect(preview.status).not.toBe(0);
    expect(preview.output).toMatch(/ml-container.*protect|protect.*ml-container/s);
    containers((all) => {
      all.ml = saved;
    });
    expect(config()).toBe(before);
  });
});

describe("the command channel into a container", () => {
  const inside = (script: string, ...args: string[]) =>
    feed(["pct exec 129 --keep-env 0 -- bash -s --", ...args.map(shellWord)].join(" "), script);

  it.each([
    ["spaces", "two  words "],
    ["both quotes", `it's "quoted"`],
    ["a dollar", "$HOME ${PATH} $(id) `id`"],
    ["backslashes", String.raw`a\b\\c\n`],
    ["a newline", "first\nsecond\n"],
    ["other scripts", "Grüße, 世界, 🚀"],
    ["what a shell would expand", "* ? [a-z] ~ ; & | < > ! #"],
    ["nothing", ""],
  ])("carries an argument with %s unchanged", (_what, value) => {
    const result = inside('printf "%s" "$1" | base64 -w0', value);
    expect(Buffer.from(result.stdout, "base64").toString("utf8")).toBe(value);
  });

  it.each([0, 1, 2, 127, 137])("brings the exit status %d back", (code) => {
    expect(inside(code === 137 ? "kill -KILL $$" : `exit ${code}`).status).toBe(code);
  });

  it("tells a container that is missing, one that is stopped and a host that does not answer apart", () => {
    expect(stack.tryOnHost("pct exec 999 -- true").output).toMatch(
      /Configuration file .*999.* does not exist/,
    );
    stack.onHost("pct shutdown 129");
    expect(inside("true").stderr).toContain("container '129' not running!");
    stack.onHost("pct start 129");
    // Nobody listens there; an address that does not answer takes a minute of dialling.
    stack.edit((file) => Object.assign(file.host ?? {}, { sshPort: 2222 }));
    const result = stack.pulumi("up", "--yes", "--skip-preview", "--target", "**driver-kernel");
    stack.edit((file) => delete file.host?.sshPort);
    expect(result.status).not.toBe(0);
    expect(result.output).toMatch(new RegExp(`dial tcp ${stack.subnet}\\.5:2222: .*refused`, "i"));
  });

  it("leaves no process behind, and the service alone", () => {
    const processes = () =>
      stack
        .inContainer(`sh -c 'for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline; echo; done' 2>/dev/null`)
        .split("\n")
        .filter((line) => line !== "" && !/^(sh -c|tr )/.test(line))
        .sort();
    const pid = () => stack.inContainer("systemctl show -P MainPID sglang-qwen");
    stack.inContainer("systemctl start sglang-qwen");
    const before = { pid: pid(), processes: processes() };
    expect(Number(before.pid)).toBeGreaterThan(1);
    for (const name of ["ml-attach", "ml-cuda-check", "ml-driver-userland"])
      expect(runStep(name)).toMatchObject({ status: 0 });
    expect({ pid: pid(), processes: processes() }).toEqual(before);
    expect(stack.onHost("pgrep -c lxc-attach || true")).toBe("0");
  });
});

describe("after a reboot of the host", () => {
  const boot = (inventory: string) => {
    stack.lab("inventory", "pve1", inventory);
    const before = stack.onHost("systemctl reset-failed; cat /proc/sys/kernel/random/boot_id");
    const reboot = stack.tryLab("reboot", "pve1");
    // The lab says which units failed; with a missing card that is the one that looks for cards.
    if (reboot.status !== 0) expect(reboot.output).toMatch(/failed units: .*gpu-nodes/);
    expect(stack.onHost("cat /proc/sys/kernel/random/boot_id")).not.toBe(before);
    // pve-guests.service is what starts the containers.
    stack.onHost(
      "until ! systemctl is-active -q pve-guests || systemctl show -P SubState pve-guests | grep -q exited; do sleep 0.2; done; true",
    );
  };
  const journal = () => stack.onHost("journalctl -b --no-pager -q -u gpu-nodes");

  it("the container runs without help and sees both cards", () => {
    boot("2x-a6000");
    expect(status()).toBe("status: running");
    expect(uuids()).toEqual([LEFT, RIGHT]);
    expect(runStep("ml-cuda-check")).toMatchObject({ status: 0 });
  });

  it("with its two cards' minor numbers swapped, it has both as before, and nothing differs from the stack", () => {
    const both = ["dev0: /dev/nvidia0,mode=0666", "dev1: /dev/nvidia1,mode=0666"];
    expect(devices().slice(0, 2)).toEqual(both);
    boot("2x-a6000-swapped-minors");
    // Both nodes are its own, whatever their order: nothing is written.
    expect(devices().slice(0, 2)).toEqual(both);
    expect(status()).toBe("status: running");
    expect(uuids()).toEqual([LEFT, RIGHT]);
    expect(stack.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("without one of its cards, it stays stopped, the journal names container and card, and no start is possible", () => {
    boot("1x-a6000");
    expect(status()).toBe("status: stopped");
    expect(journal()).toContain(`container 129 will not be started: card a6000-1 (${RIGHT}) is not there`);
    expect(stack.tryOnHost("pct start 129").status).not.toBe(0);
    expect(status()).toBe("status: stopped");
  });

  it("without any card, it is named too", () => {
    boot("none");
    expect(status()).toBe("status: stopped");
    expect(journal()).toContain(`container 129 will not be started: card a6000-0 (${LEFT}) is not there`);
  });

  it("with a card in a virtual machine, journal and step name the machine", () => {
    stack.onHost(
      "mkdir -p /etc/pve/qemu-server; printf 'name: windows\\nhostpci0: 0000:61:00,pcie=1\\n' > /etc/pve/qemu-server/105.conf",
    );
    boot("2x-a6000-one-vfio");
    const words = "0000:61:00.0 is bound to vfio-pci for VM 105";
    expect(status()).toBe("status: stopped");
    expect(journal()).toContain(words);
    const { status: failed, stderr } = runStep("driver-gpu-boot");
    expect(failed).toBe(1);
    expect(stderr).toContain(words);
    stack.onHost("rm -r /etc/pve/qemu-server");
  });

  it("with its cards back, it runs again without help", () => {
    boot("2x-a6000");
    expect(status()).toBe("status: running");
    expect(uuids()).toEqual([LEFT, RIGHT]);
    expect(stack.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });
});
