import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { ask, LabStack, PROJECT, type StackFile } from "./lab-stack";

const ANOTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFqvyAFskyoBX8N43V9bRkX3DGEqpY9TnrdvHVATjmBQ";

const lab = new LabStack();
jest.setTimeout(600_000);

beforeAll(() => {
  lab.up();
});
afterAll(() => {
  lab.down();
});

const stackFile = () => join(lab.folder, "Pulumi.test.yaml");

function stack(...words: string[]) {
  const { status, stdout, stderr } = spawnSync("./stack", words, { cwd: PROJECT, encoding: "utf8" });
  return { status, stdout, stderr };
}

function inventory(...options: string[]) {
  return stack(
    "inventory",
    `root@${lab.subnet}.5`,
    "--identity",
    join(lab.folder, "client_ed25519"),
    ...options,
  );
}

interface Finding {
  readonly id: string;
  readonly state: string;
  readonly message: string;
}

/** Exit code and problems of `doctor` after a change of the stack file, which is taken back. */
function doctorAfter(change: (file: StackFile) => void): { status: number | null; problems: string[] } {
  lab.edit(change);
  const { status, stdout, stderr } = stack("doctor", stackFile(), "--json");
  lab.reset();
  if (stdout === "") throw new Error(stderr);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  const problems = findings.filter(({ state }) => state === "problem");
  return { status, problems: problems.map(({ id, message }) => `${id}: ${message}`) };
}

const unchanged = () => undefined;

/** Everything on the host that a look could change by mistake. */
const stateOfHost = () =>
  lab.onHost(
    "find /etc /boot /usr /opt /root /srv /var/lib /var/cache -xdev -type f -printf '%p %s %T@\\n' | sort | sha256sum; lsmod; systemctl list-unit-files --no-pager",
  );

/** The printed file's blocks, and what `check` still misses in it. */
function printed(): { blocks: StackFile; missing: string[]; text: string } {
  const { status, stdout } = inventory();
  expect(status).toBe(0);
  const file = join(lab.folder, "Pulumi.printed.yaml");
  writeFileSync(file, stdout);
  const check = stack("check", file, "--json");
  expect(check.status).toBe(0);
  const { problems } = JSON.parse(check.stdout) as { problems: { id: string; path: string }[] };
  const { config } = parse(stdout) as { config: StackFile };
  return {
    blocks: config,
    missing: problems.map(({ id, path }) => `${id} ${path.replace("proxmox-gpu-stack:", "")}`),
    text: stdout,
  };
}

describe("a bare host", () => {
  it("is printed as a stack file that lacks only what nobody can know", () => {
    const { blocks, missing, text } = printed();
    expect(missing).toEqual([
      "missing-secret apiToken",
      "unknown-pin containers.ml.template.sha256",
      "unknown-pin containers.ml.network.address",
    ]);
    expect(blocks["proxmox-gpu-stack:host"]?.["hostKey"]).toBe(
      lab.onHost("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub"),
    );
    expect(Object.values(blocks["proxmox-gpu-stack:gpus"] ?? {})).toEqual([
      { model: "rtx-a6000", pci: "0000:41:00.0" },
      { model: "rtx-a6000", pci: "0000:61:00.0" },
    ]);
    expect(text).toContain("# no NVIDIA driver is installed; nouveau holds the cards");
  });

  it("is left as it is by both verbs", () => {
    const before = stateOfHost();
    inventory();
    expect(doctorAfter(unchanged)).toEqual({ status: 0, problems: [] });
    expect(stateOfHost()).toBe(before);
  });

  it("is not believed when it shows another key than the one asked for", () => {
    const { status, stderr } = inventory("--host-key", ANOTHER_KEY);
    expect(status).toBe(1);
    expect(stderr).toContain("shows another host key than the declared one");
  });

  it.each([
    ["there is no host", `root@${lab.subnet}.77`],
    ["there is no SSH server", `root@${lab.subnet}.1`],
  ])("where %s, the exit code says so", (_, target) => {
    const { status, stderr } = stack("inventory", target);
    expect(status).toBe(4);
    expect(stderr).toContain("cannot be reached over SSH");
  });
});

describe("what stops an up is known before it", () => {
  it("a reboot that the stack does not allow", () => {
    expect(doctorAfter((file) => Object.assign(file["host"] ?? {}, { reboot: "never" }))).toEqual({
      status: 1,
      problems: ["reboot: a reboot is needed (nouveau holds the cards) and the stack says reboot: never"],
    });
  });

  it("a wrong host key", () => {
    const { status, problems } = doctorAfter((file) =>
      Object.assign(file["host"] ?? {}, { hostKey: ANOTHER_KEY }),
    );
    expect(status).toBe(1);
    expect(problems).toEqual([`ssh: ${lab.subnet}.5 shows another host key than the declared one`]);
  });

  it("a wrong password, which is not shown", () => {
    const { status, problems } = doctorAfter((file) => Object.assign(file, { apiPassword: "swordfish" }));
    expect(status).toBe(1);
    expect(problems).toEqual(["api: the API refuses the password of root@pam: 401 authentication failure"]);
  });

  it("a wrong token; the right one is accepted", () => {
    const withToken = (uuid: string) => (file: StackFile) => {
      delete file["apiPassword"];
      Object.assign(file, { apiToken: `root@pam!iac=${uuid}` });
    };
    expect(doctorAfter(withToken("11111111-2222-3333-4444-555555555555"))).toEqual({
      status: 0,
      problems: [],
    });
    const { problems } = doctorAfter(withToken("00000000-2222-3333-4444-555555555555"));
    expect(problems).toEqual([expect.stringMatching(/^api: the API refuses the API token: 401 /) as string]);
  });

  it("a certificate that cannot be verified", () => {
    const { problems } = doctorAfter((file) => Object.assign(file["host"] ?? {}, { api: { tls: "verify" } }));
    expect(problems).toEqual([expect.stringContaining("its certificate cannot be verified") as string]);
  });

  it("a host that is not there", () => {
    const { status, problems } = doctorAfter((file) =>
      Object.assign(file["host"] ?? {}, { address: `${lab.subnet}.77` }),
    );
    expect(status).toBe(4);
    expect(problems.map((text) => text.split(":")[0])).toEqual(["ssh", "api"]);
  });

  it("a driver of others, and a line that insists on nouveau", () => {
    lab.onHost(
      "printf '#!/bin/sh\\n' > /usr/bin/nvidia-uninstall; chmod 755 /usr/bin/nvidia-uninstall; echo 'install nouveau /sbin/modprobe -i nouveau' > /etc/modprobe.d/zz.conf",
    );
    const { problems } = doctorAfter(unchanged);
    lab.onHost("rm /usr/bin/nvidia-uninstall /etc/modprobe.d/zz.conf");
    expect(problems).toEqual([
      "nouveau: modprobe's configuration says to load nouveau: /etc/modprobe.d/zz.conf:1:install nouveau /sbin/modprobe -i nouveau",
      expect.stringContaining(
        "driver-origin: another driver is there: driver , put there by NVIDIA's installer",
      ) as string,
    ]);
  });

  it("a container of others with the id, and somebody else at the address", () => {
    lab.onHost(
      `printf 'arch: amd64\\nhostname: mail\\nrootfs: local-lvm:vm-129-disk-0,size=8G\\n' > /etc/pve/lxc/129.conf; ip address add ${lab.subnet}.129/32 dev vmbr0`,
    );
    const { problems } = doctorAfter(unchanged);
    lab.onHost(`rm /etc/pve/lxc/129.conf; ip address del ${lab.subnet}.129/32 dev vmbr0`);
    expect(problems).toEqual([
      "container-id: ml: container 129 (mail) is not this stack's",
      `address: ml: somebody answers at ${lab.subnet}.129`,
    ]);
  });
});

describe("a card that a virtual machine has", () => {
  const boot = (cards: string) => {
    lab.lab("inventory", "pve1", cards);
    lab.lab("reboot", "pve1");
  };

  beforeAll(() => {
    boot("2x-a6000-one-vfio");
    lab.onHost(
      "mkdir -p /etc/pve/qemu-server; echo 'hostpci0: 61:00,pcie=1' > /etc/pve/qemu-server/105.conf",
    );
  });
  afterAll(() => {
    lab.onHost("rm -r /etc/pve/qemu-server");
    boot("2x-a6000");
  });

  it("is printed as a comment that names the machine", () => {
    const { blocks, text } = printed();
    expect(Object.keys(blocks["proxmox-gpu-stack:gpus"] ?? {})).toEqual(["rtx-a6000-0"]);
    expect(text).toContain("0000:61:00.0, vfio-pci, in virtual machine 105: not for containers");
  });

  it("stops an up of a stack that declares it", () => {
    expect(doctorAfter(unchanged).problems).toEqual([
      "card-count: 1 of 2 declared cards of model rtx-a6000 can be used; 0000:61:00.0 is bound to vfio-pci for virtual machine 105",
    ]);
  });
});

describe("a deployed host", () => {
  const disable = (file: StackFile) => Object.assign(file["services"]?.["qwen"] ?? {}, { enabled: false });
  const state = () =>
    lab.onHost(
      "pct exec 129 -- systemctl show -P ActiveState -P UnitFileState sglang-qwen.service sglang-qwen-probe.timer | grep .",
    );

  it("has the files of a service that is not enabled, which does not run", () => {
    lab.edit(disable);
    lab.deploy();
    expect(state().split("\n")).toEqual(["inactive", "disabled", "inactive", "disabled"]);
    expect(lab.inContainer("cat /etc/systemd/system/sglang-qwen.service")).toContain("sglang");
    expect(lab.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("serves it when it is enabled, and stops it when it is disabled again", async () => {
    lab.reset();
    expect(lab.previewedSteps()).toEqual(["update qwen-service"]);
    lab.deploy();
    expect(state().split("\n")).toEqual(["active", "enabled", "active", "enabled"]);
    expect(await ask(lab.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
    lab.edit(disable);
    lab.deploy();
    expect(state().split("\n")).toEqual(["inactive", "disabled", "inactive", "disabled"]);
    lab.reset();
  });

  it("is printed with its driver, its cards by UUID and the container that has them", () => {
    const { blocks, missing, text } = printed();
    expect(missing).toEqual([
      "missing-secret apiToken",
      "unknown-pin driver.installer.sha256",
      "unknown-pin containers.ml.template.sha256",
    ]);
    expect(blocks["proxmox-gpu-stack:driver"]).toMatchObject({ version: "580.105.08", modules: "open" });
    expect(stringify(blocks["proxmox-gpu-stack:gpus"])).toContain("GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2");
    expect(blocks["proxmox-gpu-stack:containers"]?.["ml"]).toMatchObject({
      vmId: 129,
      cores: 2,
      memoryGiB: 4,
      network: { address: `${lab.subnet}.129/24` },
      gpus: ["rtx-a6000-0", "rtx-a6000-1"],
      mounts: [{ source: "/srv/models", target: "/models", readOnly: true }],
    });
    expect(text).toContain("# container 129 (ml), running, of a stack");
  });

  it("has nothing that would stop the next up, but a new driver version where others use the cards and no reboot is allowed", () => {
    expect(doctorAfter(unchanged)).toEqual({ status: 0, problems: [] });
    // The lab's nodes have no driver behind them: they can be held, but not opened for reading.
    lab.onHost(
      `systemd-run --quiet --unit=card-holder python3 -c 'import os, time; os.open("/dev/nvidiactl", os.O_PATH); time.sleep(600)'`,
    );
    const { problems } = doctorAfter((file) => {
      Object.assign(file["driver"] ?? {}, { version: "590.48.01" });
      Object.assign(file["host"] ?? {}, { reboot: "never" });
    });
    lab.onHost("systemctl stop card-holder");
    expect(problems).toEqual([
      expect.stringMatching(
        /^driver-loaded: driver 580\.105\.08 \(open\) is loaded, 590\.48\.01 \(open\) is declared, others use the cards \(process \d+ \(.*\) on the host\)/,
      ) as string,
    ]);
  });
});
