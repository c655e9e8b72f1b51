import { usePreparedLab } from "./deployed-lab";

const OURS = 129;
const OTHER = 130;
const stack = usePreparedLab();

/** The stack's driver and container without what runs in it: the driver is what is tested here. */
function withoutServices(): void {
  stack.edit((file) => {
    for (const key of ["services", "environments", "models"]) delete file[key];
  });
}

function driver(change: Record<string, unknown>): void {
  stack.edit((file) => {
    Object.assign(file.driver ?? {}, change);
  });
}

function reboot(policy: "allow" | "never"): void {
  stack.edit((file) => {
    Object.assign(file.host ?? {}, { reboot: policy });
  });
}

/** An `up` that must fail; its output in one line. */
function refused(): string {
  const result = stack.pulumi("up", "--yes", "--skip-preview");
  if (result.status === 0) throw new Error(`the up went through:\n${result.output}`);
  return result.output;
}

/** A process that holds a card: opened as a path only, which is enough here and needs no driver behind the node. */
const HOLD_CARD =
  "systemd-run --quiet --unit=holder python3 -c 'import os, time; os.open(\"/dev/nvidia1\", os.O_PATH); time.sleep(9999)'";

const bootId = () => stack.onHost("cat /proc/sys/kernel/random/boot_id");
const loaded = () => /\b(\d{3}\.[\d.]+\d) /.exec(stack.onHost("cat /proc/driver/nvidia/version"))?.[1];
const inside = (id: number) =>
  stack.onHost(`pct exec ${id} -- nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0`);

/** A unit such as ours in the container, which notes when it starts and stops. */
function startService(): void {
  stack.onHost(`cat > /tmp/unit <<'UNIT'
[Service]
ExecStart=/bin/sh -c 'date +%%s.%%N >> /root/started; exec sleep infinity'
ExecStop=/bin/sh -c 'date +%%s.%%N > /root/stopped'
[Install]
WantedBy=multi-user.target
UNIT
pct push ${OURS} /tmp/unit /etc/systemd/system/sglang-busy.service
pct exec ${OURS} -- systemctl enable --now sglang-busy`);
}

const time = (command: string) => Number(stack.onHost(command).split("\n").at(-1));

beforeAll(() => {
  withoutServices();
  stack.deploy();
  startService();
});

describe("another version of the driver, with the GPUs in our containers only", () => {
  it.each(["590.48.01", "580.105.08"])("needs no reboot (%s), not even where none is allowed", (version) => {
    const boot = bootId();
    reboot("never");
    driver({ version });
    stack.deploy();
    expect(bootId()).toBe(boot);
    expect(loaded()).toBe(version);
    expect(inside(OURS)).toBe(version);
  });

  it("comes in order: services, host, libraries in the container, services again", () => {
    driver({ version: "590.48.01" });
    stack.deploy();
    const stopped = time(`pct exec ${OURS} -- cat /root/stopped`);
    const host = time("stat -c %.Y /usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01");
    const libraries = time(`pct exec ${OURS} -- stat -c %.Y /usr/lib/x86_64-linux-gnu/libcuda.so.590.48.01`);
    expect(stopped).toBeLessThan(host);
    expect(host).toBeLessThan(libraries);
    expect(stack.onHost(`pct exec ${OURS} -- systemctl is-active sglang-busy`)).toBe("active");
  });

  it("previews a changed kind of modules as all that runs on it, and loads it", () => {
    driver({ modules: "proprietary" });
    expect(stack.previewedSteps()).toEqual(
      expect.arrayContaining(["update driver-install", "update ml-attach"]),
    );
    stack.deploy();
    expect(stack.onHost("modinfo -F license nvidia")).toBe("NVIDIA");
    expect(stack.onHost("cat /proc/driver/nvidia/version")).not.toContain("Open");
    driver({ modules: "open" });
    stack.deploy();
  });
});

describe("another version of the driver, with a container that is not ours on a GPU", () => {
  beforeAll(() => {
    stack.onHost(`pct create ${OTHER} local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst --rootfs local-lvm:4 \
      --hostname theirs --unprivileged 1 --features nesting=1 --onboot 1 --dev0 /dev/nvidia0 --dev1 /dev/nvidiactl
pct start ${OTHER}`);
  });

  it("is refused where no reboot is allowed: the container is named, and nothing is stopped or changed", () => {
    const started = stack.onHost(`pct exec ${OURS} -- cat /root/started`);
    driver({ version: "580.105.08" });
    const output = refused();
    expect(output).toContain(`used by container ${OTHER} (theirs)`);
    expect(output).toContain("reboot: never; nothing was changed");
    expect(loaded()).toBe("590.48.01");
    expect(stack.onHost("modinfo -F version nvidia")).toBe("590.48.01");
    expect(stack.onHost(`pct exec ${OURS} -- cat /root/started`)).toBe(started);
    expect(stack.onHost(`pct status ${OTHER}`)).toBe("status: running");
  });

  it("reboots the host where that is allowed; the container is listed before and shut down in order", () => {
    stack.onHost(
      `pct exec ${OTHER} -- sh -c 'printf "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\nExecStop=/bin/touch /root/shut-down\\n[Install]\\nWantedBy=multi-user.target\\n" > /etc/systemd/system/mark.service; systemctl enable --now mark'`,
    );
    const boot = bootId();
    reboot("allow");
    const { output } = stack.deploy();
    expect(output).toContain(`container ${OTHER} (theirs)`);
    expect(bootId()).not.toBe(boot);
    expect(loaded()).toBe("580.105.08");
    expect(inside(OURS)).toBe("580.105.08");
    expect(stack.onHost(`pct exec ${OTHER} -- ls /root/shut-down`)).toBe("/root/shut-down");
    stack.onHost(`pct stop ${OTHER}; pct destroy ${OTHER}`);
  });

  it("names a process on the host that holds a card", () => {
    stack.onHost(HOLD_CARD);
    reboot("never");
    driver({ version: "590.48.01" });
    expect(refused()).toMatch(/used by process \d+ \(python3\) on the host/);
    stack.onHost("systemctl stop holder");
    driver({ version: "580.105.08" });
    stack.deploy();
  });
});

describe("a host whose driver is right already", () => {
  it("is taken over by a new stack as it is: nothing is touched, nothing downloaded, no reboot", () => {
    stack.onHost("rm -rf /var/cache/proxmox-gpu-stack /var/lib/proxmox-gpu-stack");
    const state = "stat -c %Y /lib/modules/*/updates/dkms/nvidia.ko /etc/modprobe.d/* /boot/initrd.img-*";
    const before = stack.onHost(state);
    const boot = bootId();
    stack.forget();
    reboot("never");
    stack.edit((file) => {
      delete file.containers;
    });
    const { output } = stack.deploy();
    expect(output).not.toMatch(/to do: .*(kernel|driver)/);
    expect(stack.onHost(state)).toBe(before);
    expect(bootId()).toBe(boot);
    expect(stack.onHost("ls /var/cache/proxmox-gpu-stack 2>/dev/null || true")).toBe("");
  });
});
