import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { LabStack, PROJECT } from "./lab-stack";

const NEXT_KERNEL = "6.8.12-8-pve";
const stack = new LabStack();
jest.setTimeout(600_000);

/** Only the host: what is tested here is done before any container. */
function hostOnly(): void {
  stack.edit((file) => {
    for (const key of ["services", "environments", "models", "containers"]) delete file[key];
  });
}

function set(section: "host" | "driver", change: Record<string, unknown>): void {
  stack.edit((file) => {
    Object.assign(file[section] ?? {}, change);
  });
}

function refused(): string {
  const result = stack.pulumi("up", "--yes", "--skip-preview");
  if (result.status === 0) throw new Error(`the up went through:\n${result.output}`);
  return result.output;
}

/** A process that holds a card: opened as a path only, which is enough here and needs no driver behind the node. */
const HOLD_CARD =
  "systemd-run --quiet --unit=holder python3 -c 'import os, time; os.open(\"/dev/nvidia1\", os.O_PATH); time.sleep(9999)'";

const bootId = () => stack.onHost("cat /proc/sys/kernel/random/boot_id");
const moduleOf = (kernel: string) => stack.onHost(`modinfo -k ${kernel} -F version nvidia`);
const running = () => stack.onHost("uname -r");

/** Makes a package in the lab's own package source; `fields` are lines of its control file. */
function offerPackage(name: string, ...fields: string[]): void {
  const control = [
    `Package: ${name}`,
    "Version: 550.1",
    "Architecture: amd64",
    "Maintainer: lab <lab@localhost>",
  ];
  stack.onHost(`mkdir -p /tmp/${name}/DEBIAN && cat > /tmp/${name}/DEBIAN/control <<'CONTROL'
${[...control, ...fields, "Description: made by a test"].join("\n")}
CONTROL
cd /var/lib/lab/repository && dpkg-deb --build /tmp/${name} . >/dev/null
{ dpkg-deb --field ${name}_550.1_amd64.deb; printf 'Filename: ./${name}_550.1_amd64.deb\\nSize: %s\\nSHA256: %s\\n\\n' "$(stat -c %s ${name}_550.1_amd64.deb)" "$(sha256sum ${name}_550.1_amd64.deb | cut -d' ' -f1)"; } >> Packages
apt-get update -qq`);
}

beforeAll(() => {
  stack.up();
  hostOnly();
});
afterAll(() => {
  stack.down();
});

describe("nouveau", () => {
  it("that another file tells modprobe to load is an error that names the line, and changes nothing", () => {
    stack.onHost(
      "echo 'install nouveau /sbin/modprobe --ignore-install nouveau' > /etc/modprobe.d/zz-console.conf",
    );
    expect(refused()).toContain("/etc/modprobe.d/zz-console.conf:1:install nouveau");
    expect(stack.onHost("ls /etc/modprobe.d/blacklist-nouveau.conf 2>/dev/null || true")).toBe("");
    stack.onHost("rm /etc/modprobe.d/zz-console.conf");
  });

  it("needs a reboot, and without leave the up says what is pending; the host stays up", () => {
    set("host", { reboot: "never" });
    const boot = bootId();
    expect(refused()).toContain(
      "a reboot of pve1 is needed (nouveau holds the GPUs) and the stack says reboot: never",
    );
    expect(bootId()).toBe(boot);
  });

  it("goes with a reboot, whatever else asks for it, on a host with boot partitions, slow to come back", () => {
    // The host's console is on the first card, as the host will see it after its next boot.
    const inventory = JSON.parse(readFileSync(join(PROJECT, "lab/inventory/2x-a6000.json"), "utf8")) as {
      gpus: Record<string, unknown>[];
    };
    Object.assign(inventory.gpus[0] ?? {}, { boot_vga: true });
    const file = join(stack.folder, "console.json");
    writeFileSync(file, JSON.stringify(inventory));
    stack.lab("inventory", "pve1", file);
    // What a blacklist alone does not stop, and boot partitions that still hold the initramfs of before.
    stack.onHost(`echo nouveau >> /etc/modules
echo 'alias lab-display nouveau' > /etc/modprobe.d/display.conf
rm -f /etc/modprobe.d/blacklist-nouveau.conf && update-initramfs -u -k all >/dev/null
echo 1234-ABCD > /etc/kernel/proxmox-boot-uuids && proxmox-boot-tool refresh
mkdir -p /etc/systemd/system/ssh.service.d
printf '[Service]\\nExecStartPre=/bin/sleep 20\\n' > /etc/systemd/system/ssh.service.d/slow.conf`);
    stack.lab("reboot", "pve1");
    expect(stack.onHost("lsmod")).toContain("nouveau");
    set("host", { reboot: "allow" });
    const { output } = stack.deploy();
    expect(output).toContain("asks for nouveau, and is overruled by /etc/modprobe.d/blacklist-nouveau.conf");
    expect(output).toContain("warning: the console of pve1 is on the NVIDIA card 0000:41:00.0");
    expect(stack.onHost("lsmod")).not.toContain("nouveau");
    expect(stack.onHost("nvidia-smi -L")).toContain("GPU-3c1f7a52");
    stack.onHost("rm -r /etc/systemd/system/ssh.service.d/slow.conf && systemctl daemon-reload");
  });
});

describe("a kernel", () => {
  it("that was installed and not booted yet gets headers and modules, without a reboot", () => {
    stack.onHost(`apt-get update -qq && apt-get install -y -qq proxmox-kernel-${NEXT_KERNEL} >/dev/null`);
    const boot = bootId();
    // The host changed, not the stack: as with a new release of this program, the steps look again.
    stack.forget();
    stack.deploy();
    expect(bootId()).toBe(boot);
    expect(moduleOf(NEXT_KERNEL)).toBe("580.105.08");
    expect(stack.onHost("dpkg-query -W -f '${Package}\\n' 'proxmox-headers-*'").split("\n")).toEqual([
      "proxmox-headers-6.8",
      "proxmox-headers-6.8.12-4-pve",
      `proxmox-headers-${NEXT_KERNEL}`,
    ]);
    stack.lab("reboot", "pve1");
    expect(running()).toBe(NEXT_KERNEL);
    expect(stack.onHost("nvidia-smi -L")).toContain("GPU-3c1f7a52");
  });

  it("whose modules cannot be built ends the up with DKMS's log, and the next up goes on", () => {
    const header = `/usr/src/linux-headers-${NEXT_KERNEL}/include/generated/utsrelease.h`;
    stack.onHost(`cp ${header} /root/header && echo '#error this kernel is broken by a test' >> ${header}`);
    set("driver", { version: "590.48.01" });
    const output = refused();
    expect(output).toContain("the driver 590.48.01 could not be installed; before it was 580.105.08");
    expect(output).toContain("make.log");
    expect(output).toContain("#error this kernel is broken by a test");
    stack.onHost(`cp /root/header ${header}`);
    stack.deploy();
    expect(moduleOf(NEXT_KERNEL)).toBe("590.48.01");
  });

  it("that is older and will not boot may lack what nobody offers any more", () => {
    stack.onHost(`apt-get purge -y -qq proxmox-headers-6.8.12-4-pve >/dev/null
sed -i '/^Package: proxmox-headers-6.8.12-4-pve$/,/^$/d; /^Package: proxmox-headers-6.8$/,/^$/d' /var/lib/lab/repository/Packages
apt-get update -qq`);
    stack.forget();
    stack.deploy();
    expect(stack.onHost("dpkg-query -W -f '${Package}\\n' 'proxmox-headers-6*'")).toBe(
      `proxmox-headers-${NEXT_KERNEL}`,
    );
  });
});

describe("Secure Boot", () => {
  it("without an enrolled key stops the up with the commands that enrol it, and nothing is changed", () => {
    stack.onHost("touch /etc/lab/secureboot; rm -f /var/lib/dkms/mok.*");
    set("driver", { version: "580.105.08" });
    const output = refused();
    expect(output).toContain("mokutil --import /var/lib/dkms/mok.pub");
    expect(output).toContain("'Enroll MOK'");
    expect(stack.onHost("stat -c %a /var/lib/dkms/mok.key")).toBe("600");
    expect(stack.onHost("openssl x509 -inform der -in /var/lib/dkms/mok.pub -noout -subject")).toContain(
      "DKMS module signing key",
    );
    expect(moduleOf(NEXT_KERNEL)).toBe("590.48.01");
    expect(stack.onHost("nvidia-smi -L")).toContain("GPU-3c1f7a52");
  });

  it("with an enrolled key is no obstacle", () => {
    stack.onHost("touch /etc/lab/mok-enrolled");
    stack.deploy();
    expect(moduleOf(NEXT_KERNEL)).toBe("580.105.08");
    stack.onHost("rm /etc/lab/secureboot");
  });
});

describe("a driver that somebody else put on the host", () => {
  it("from packages cannot come while the stack's driver is there, and is kept as it is if it was there", () => {
    offerPackage("nvidia-driver-cuda");
    offerPackage("nvidia-container-toolkit");
    expect(stack.tryOnHost("apt-get install -y -qq nvidia-driver-cuda").output).toContain(
      "has no installation candidate",
    );
    expect(stack.onHost("apt-cache policy nvidia-container-toolkit")).toContain("Candidate: 550.1");
  });

  it("from packages is named and refused, and removed only where the owner says so", () => {
    stack.onHost("dpkg -i /var/lib/lab/repository/nvidia-driver-cuda_550.1_amd64.deb >/dev/null");
    set("driver", { version: "590.48.01" });
    const output = refused();
    expect(output).toContain("another driver is here: package nvidia-driver-cuda");
    expect(output).toContain("driver.replaceExisting");
    expect(moduleOf(NEXT_KERNEL)).toBe("580.105.08");
    set("driver", { replaceExisting: true });
    expect(stack.deploy().output).toContain("nvidia-driver-cuda");
    expect(
      stack.onHost("dpkg-query -W -f '${db:Status-Status}' nvidia-driver-cuda 2>/dev/null || true"),
    ).not.toBe("installed");
    expect(moduleOf(NEXT_KERNEL)).toBe("590.48.01");
  });

  it("from an installer is named and refused, and removed only where the owner says so", () => {
    // Without its record, the driver that is there may be anybody's.
    stack.onHost("rm /var/lib/proxmox-gpu-stack/driver");
    set("driver", { version: "580.105.08", replaceExisting: false });
    expect(refused()).toContain(
      "another driver is here: driver 590.48.01, put there by NVIDIA's installer but not by this program",
    );
    expect(moduleOf(NEXT_KERNEL)).toBe("590.48.01");
    set("driver", { replaceExisting: true });
    stack.deploy();
    expect(moduleOf(NEXT_KERNEL)).toBe("580.105.08");
    expect(stack.onHost("dkms status")).not.toContain("590");
  });
});

describe("a host that does not come back from its reboot", () => {
  it("fails the up in time, with what to do said before; the next up goes on from there", () => {
    // Somebody uses a card, so a reboot is needed; after it, nobody can log in.
    stack.onHost(HOLD_CARD);
    stack.onHost("touch /etc/ssh/sshd_not_to_be_run");
    set("driver", { version: "590.48.01" });
    set("host", { rebootTimeoutMinutes: 1 });
    const output = refused();
    expect(output).toMatch(
      /pve1 reboots now: driver 580\.105\.08 is loaded and in use, 590\.48\.01 replaces it/,
    );
    expect(output).toContain(
      "if that step fails because pve1 cannot be dialled, look at its console, then run `up` again",
    );
    expect(output).toMatch(/driver-ready.*\n?.*fail|dial/);
    stack.lab("kill", "pve1");
    rmSync(join(stack.folder, "run/hosts/pve1/disk/etc/ssh/sshd_not_to_be_run"));
    stack.lab("start", "pve1");
    const again = stack.deploy();
    expect(again.output).not.toContain("building and installing");
    expect(stack.onHost("cat /proc/driver/nvidia/version")).toContain("590.48.01");
  });
});
