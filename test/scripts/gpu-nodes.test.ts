import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { Sandbox } from "./bash";

const TOOL = join(__dirname, "..", "..", "scripts", "tools", "gpu-nodes");
const LEFT = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
const RIGHT = "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2";
const UVM_MAJOR = 238;

let host: Sandbox;

/** A card as the driver shows it, with its node; numbers are kept as `stat` prints them: in hexadecimal. */
function card(uuid: string, address: string, minor: number): void {
  host.write(
    `proc/driver/nvidia/gpus/${address}/information`,
    `Model: \t\t NVIDIA RTX A6000\nGPU UUID: \t ${uuid}\nBus Location: \t ${address}\nDevice Minor: \t ${minor}\nGPU Excluded:\t No\n`,
  );
  node(`nvidia${minor}`, 195, minor);
}

function noCard(address: string): void {
  rmSync(host.path(`proc/driver/nvidia/gpus/${address}`), { recursive: true });
}

function node(name: string, major: number, minor: number): void {
  mkdirSync(host.path("dev"), { recursive: true });
  rmSync(host.path("dev", name), { force: true });
  // Any character device; its numbers come from the stand-in for stat.
  symlinkSync("/dev/null", host.path("dev", name));
  host.write(`numbers/${name}`, `${major.toString(16)} ${minor.toString(16)}`);
}

/** A container of the stack: its declared cards, and what Proxmox VE has of it. */
function container(id: number, cards: readonly string[], lines: readonly string[] = []): void {
  if (cards.length > 0)
    host.write(`etc/proxmox-gpu-stack/containers/${id}`, ["0666", ...cards, ""].join("\n"));
  host.write(`pct/${id}.conf`, ["cores: 2", ...lines, ""].join("\n"));
}

const devices = (id: number) =>
  readFileSync(host.path(`pct/${id}.conf`), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("dev"))
    .sort();

function run(...args: string[]) {
  const result = spawnSync("bash", [TOOL, ...args], {
    encoding: "utf8",
    env: { PATH: `${host.path("bin")}:${process.env.PATH ?? ""}`, GPU_NODES_ROOT: host.folder },
    timeout: 60_000,
  });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

const COMMON = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];
const devicesFor = (...minors: number[]) =>
  [...minors.map((minor) => `/dev/nvidia${minor}`), ...COMMON].map((path, i) => `dev${i}: ${path},mode=0666`);

beforeEach(() => {
  host = new Sandbox();
  host.write("proc/driver/nvidia/version", "NVRM version: …\n");
  host.write(
    "proc/devices",
    `Character devices:\n195 nvidia\n195 nvidiactl\n241 nvidia-caps\n${UVM_MAJOR} nvidia-uvm\n`,
  );
  card(LEFT, "0000:41:00.0", 0);
  card(RIGHT, "0000:61:00.0", 1);
  node("nvidiactl", 195, 255);
  node("nvidia-uvm", UVM_MAJOR, 0);
  node("nvidia-uvm-tools", UVM_MAJOR, 1);
  host.write("etc/proxmox-gpu-stack/cards", `left ${LEFT}\nright ${RIGHT}\nslot 0000:61:00.0\n`);
  for (const command of ["nvidia-smi", "nvidia-modprobe"])
    host.command(command, `echo ${command} "$@" >>${host.path("log")}`);
  host.command("modprobe", "exit 1");
  host.command(
    "stat",
    `read -r major minor <"${host.folder}/numbers/$(basename "\${@: -1}")" || true
case " $* " in *" %t "*) echo "$major" ;; *" %T "*) echo "$minor" ;; esac`,
  );
  host.command(
    "pct",
    `file=${host.folder}/pct/$2.conf
if [[ ! -e $file ]]; then echo "Configuration file does not exist" >&2; exit 2; fi
[[ $1 != config ]] || exec cat "$file"
echo "pct $*" >>${host.path("log")}
shift 2
while (($# > 0)); do
  if [[ $1 == --delete ]]; then
    for key in \${2//,/ }; do sed -i "/^$key: /d" "$file"; done
  else
    sed -i "/^\${1#--}: /d" "$file"
    echo "\${1#--}: $2" >>"$file"
  fi
  shift 2
done`,
  );
});
afterEach(() => {
  host.remove();
});

const log = () => (existsSync(host.path("log")) ? readFileSync(host.path("log"), "utf8") : "");

describe("a declared card", () => {
  it.each([
    ["left", "/dev/nvidia0"],
    ["right", "/dev/nvidia1"],
    ["slot", "/dev/nvidia1"],
  ])("%s is found by its UUID or address", (name, path) => {
    expect(run("card", name).stdout).toBe(path);
  });

  it("is found under another minor number after it moved", () => {
    card(LEFT, "0000:41:00.0", 1);
    card(RIGHT, "0000:61:00.0", 0);
    expect(run("card", "right").stdout).toBe("/dev/nvidia0");
  });

  it("that is not there is named with its UUID, beside the cards that are", () => {
    noCard("0000:61:00.0");
    const { status, stderr } = run("card", "right");
    expect(status).toBe(1);
    expect(stderr).toBe(
      `gpu-nodes: card right (${RIGHT}) is not there; cards seen: ${LEFT} at 0000:41:00.0\n`,
    );
  });

  describe("that a virtual machine has", () => {
    beforeEach(() => {
      noCard("0000:61:00.0");
      host.write("sys/bus/pci/devices/0000:61:00.0/vendor", "0x10de\n");
      host.write("sys/bus/pci/devices/0000:61:00.0/class", "0x030000\n");
      symlinkSync("../../../drivers/vfio-pci", host.path("sys/bus/pci/devices/0000:61:00.0/driver"));
    });

    it.each([
      "hostpci0: 0000:61:00,pcie=1",
      "hostpci0: 61:00.0,x-vga=1",
      "hostpci1: host=0000:61:00.0;0000:61:00.1",
    ])("is named with that machine, which says %s", (line) => {
      host.write("etc/pve/qemu-server/104.conf", "name: other\nhostpci0: 0000:21:00.0\n");
      host.write("etc/pve/qemu-server/105.conf", `name: windows\n${line}\n`);
      expect(run("card", "right").stderr).toContain("0000:61:00.0 is bound to vfio-pci for VM 105:");
    });

    it("is named without one when no machine says so", () => {
      host.write("etc/pve/qemu-server/104.conf", "hostpci0: 0000:21:00.0\n");
      expect(run("card", "right").stderr).toContain("is bound to vfio-pci for a VM (none of this host");
    });
  });

  it("that is split by MIG is refused", () => {
    host.write("proc/driver/nvidia/capabilities/gpu1/mig/gi7/access", "DeviceFileMinor: 66\n");
    expect(run("card", "left").status).toBe(0);
    const { status, stderr } = run("card", "right");
    expect(status).toBe(1);
    expect(stderr).toContain(`is split by MIG, which is not supported here: nvidia-smi -i ${RIGHT} -mig 0`);
  });
});

describe("attaching cards", () => {
  it("writes the cards and what CUDA needs besides, once", () => {
    container(129, ["left", "right"]);
    expect(run("attach", "129")).toMatchObject({ status: 0, stderr: "" });
    expect(devices(129)).toEqual(devicesFor(0, 1));
    const calls = log();
    expect(run("attach", "129").status).toBe(0);
    expect(log()).toBe(calls);
    expect(run("check", "129").status).toBe(0);
  });

  it("follows cards whose minor numbers changed", () => {
    container(129, ["right"], devicesFor(1));
    card(LEFT, "0000:41:00.0", 1);
    card(RIGHT, "0000:61:00.0", 0);
    expect(run("check", "129").status).toBe(1);
    run("attach", "129");
    expect(devices(129)).toEqual(devicesFor(0));
  });

  it("takes away entries of a card that it no longer has", () => {
    container(129, ["right"], devicesFor(0, 1));
    run("attach", "129");
    expect(devices(129)).toEqual(devicesFor(1));
  });

  it("takes away every NVIDIA entry, directories too, from a container without cards", () => {
    container(
      129,
      [],
      [...devicesFor(0, 1), "dev5: /dev/nvidia-caps,mode=0666", "dev6: /dev/nvidia-modeset"],
    );
    expect(run("check", "129").status).toBe(1);
    run("attach", "129");
    expect(devices(129)).toEqual([]);
    expect(run("check", "129").status).toBe(0);
  });

  it("keeps devices of others and passes their numbers over", () => {
    container(
      129,
      ["left"],
      ["dev0: /dev/ttyUSB0,gid=20", "dev2: path=/dev/dri/renderD128", "dev7: /dev/nvidia9"],
    );
    run("attach", "129");
    expect(devices(129)).toEqual([
      "dev0: /dev/ttyUSB0,gid=20",
      "dev1: /dev/nvidia0,mode=0666",
      "dev2: path=/dev/dri/renderD128",
      "dev3: /dev/nvidiactl,mode=0666",
      "dev4: /dev/nvidia-uvm,mode=0666",
      "dev5: /dev/nvidia-uvm-tools,mode=0666",
    ]);
    expect(run("check", "129").status).toBe(0);
  });

  it("leaves the numbers that somebody gave by hand to the same devices", () => {
    const byHand = [
      ...COMMON.map((path, i) => `dev${i}: ${path},mode=0666`),
      "dev4: path=/dev/nvidia0,mode=0666",
    ];
    container(129, ["left"], byHand);
    expect(run("check", "129")).toMatchObject({ status: 0, stderr: "" });
    run("attach", "129");
    expect(devices(129)).toEqual(byHand);
  });

  it("sees that an entry without a mode is closed to other users", () => {
    container(129, ["left"], ["dev0: path=/dev/nvidia0,gid=44", ...devicesFor(0).slice(1)]);
    expect(run("check", "129").stderr).toContain("0 /dev/nvidia0 0660");
  });

  it("changes nothing when one of the cards is missing", () => {
    container(129, ["left", "right"], devicesFor(0, 1));
    noCard("0000:41:00.0");
    expect(run("attach", "129").status).toBe(1);
    expect(devices(129)).toEqual(devicesFor(0, 1));
    expect(log()).not.toContain("pct set");
  });
});

describe("the check before a container starts", () => {
  beforeEach(() => {
    container(129, ["left"], devicesFor(0));
  });

  it("refuses another card under the same minor number", () => {
    noCard("0000:41:00.0");
    card(RIGHT, "0000:61:00.0", 0);
    const { status, stderr } = run("check", "129");
    expect(status).toBe(1);
    expect(stderr).toContain(`card left (${LEFT}) is not there`);
  });

  it("refuses a container without the uvm nodes, with CUDA's own error number", () => {
    host.write("proc/devices", "195 nvidia\n");
    expect(run("check", "129").stderr).toContain("nvidia-uvm is not loaded: CUDA would fail with error 999");
  });

  it("refuses a uvm node from before the module got another major number", () => {
    node("nvidia-uvm", 239, 0);
    expect(run("check", "129").stderr).toContain(
      "/dev/nvidia-uvm has the numbers 239:0, the driver's are 238:0: delete it",
    );
  });

  it("is not taken in by a hexadecimal major number that reads like the decimal one", () => {
    // 0x238 is 568; compared as text it would pass.
    node("nvidia-uvm", 0x238, 0);
    expect(run("check", "129").stderr).toContain("has the numbers 568:0");
    node("nvidia-uvm", UVM_MAJOR, 0);
    expect(run("check", "129").status).toBe(0);
  });
});

describe("making the nodes", () => {
  it("asks for every card, nvidiactl and uvm, and knows minor numbers above nine", () => {
    card("GPU-00000000-0000-0000-0000-000000000000", "0000:81:00.0", 10);
    expect(run("nodes")).toMatchObject({ status: 0, stderr: "" });
    for (const call of ["nvidia-smi", "-c 0", "-c 1", "-c 10", "-c 255", "-u -c 0"])
      expect(log()).toContain(call);
    expect(log()).not.toMatch(/ -m| -f/);
  });

  it("makes the others' nodes when one card has none, and names it", () => {
    rmSync(host.path("dev/nvidia0"));
    const { status, stderr } = run("nodes");
    expect(status).toBe(1);
    expect(stderr).toContain("/dev/nvidia0 is missing");
    expect(log()).toContain("-c 1");
  });
});

describe("at boot", () => {
  it("every container gets its own cards; one whose card is missing is named with the card", () => {
    container(129, ["left"], devicesFor(0));
    container(130, ["right"], devicesFor(1));
    noCard("0000:41:00.0");
    card(RIGHT, "0000:61:00.0", 0);
    const { status, stderr } = run("boot");
    expect(status).toBe(1);
    expect(stderr).toContain(
      `gpu-nodes: container 129 will not be started: card left (${LEFT}) is not there`,
    );
    expect(stderr).not.toContain("container 130");
    expect(devices(130)).toEqual(devicesFor(0));
  });

  it("every container is named when the driver cannot be loaded", () => {
    rmSync(host.path("proc/driver"), { recursive: true });
    container(129, ["left"]);
    container(130, ["right"]);
    const { status, stderr } = run("boot");
    expect(status).toBe(1);
    expect(stderr).toContain("the nvidia module cannot be loaded");
    expect(stderr).toContain("container 129 will not be started: card left");
    expect(stderr).toContain("container 130 will not be started: card right");
  });

  it("a container that is gone from the host is passed over", () => {
    container(129, ["left"]);
    rmSync(host.path("pct/129.conf"));
    expect(run("boot")).toMatchObject({ status: 0, stderr: "" });
  });
});
