import { parse } from "yaml";

import { stackFileText } from "../../../cli/inventory/stack-file";
import type { HostFacts } from "../../../cli/inventory/host-facts";
import { inspectStack } from "../../../config/load";
import { foreign, recorded } from "./samples";

const NAMESPACE = "proxmox-gpu-stack";

function printed(facts: HostFacts) {
  const text = stackFileText("192.0.2.5", facts);
  const { config } = parse(text) as { config: Record<string, Record<string, unknown>> };
  return { text, config, block: (name: string) => config[`${NAMESPACE}:${name}`] ?? {} };
}

/** Ids of what `check` finds in the printed file. */
function findings(facts: HostFacts): string[] {
  const { config } = printed(facts);
  return inspectStack(config).problems.map(({ id, path }) => `${id} ${path.replace(`${NAMESPACE}:`, "")}`);
}

describe("a bare host", () => {
  test("becomes a stack file that lacks only what nobody can know", () => {
    expect(findings(recorded("bare"))).toEqual([
      "missing-secret apiToken",
      "unknown-pin containers.ml.template.sha256",
      "unknown-pin containers.ml.network.address",
    ]);
  });

  test("is described by its own key, and cards by their slots", () => {
    const { block, text } = printed(recorded("bare"));
    expect(block("host")).toEqual({
      node: "pve1",
      address: "192.0.2.5",
      hostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+lmlurSWhg+ZOO8wdGmrAF138dqnZuL2AVL2gyEAZV",
      reboot: "never",
      api: { tls: "insecure" },
    });
    expect(block("gpus")).toEqual({
      "rtx-a6000-0": { model: "rtx-a6000", pci: "0000:41:00.0" },
      "rtx-a6000-1": { model: "rtx-a6000", pci: "0000:61:00.0" },
    });
    expect(text).toContain("# no NVIDIA driver is installed; nouveau holds the cards");
    expect(text).toContain(
      "# storages: local (dir: iso, vztmpl, backup, snippets, import); local-lvm (lvmthin: rootdir, images)",
    );
    expect(text).toContain("# bridges: vmbr0 (192.0.2.5/24)");
  });

  test("is offered one container for all cards, with a free id, on a storage for root disks", () => {
    const taken = recorded("bare", {
      containers: [foreign("100", ["hostname: dns", "net0: name=eth0,bridge=vmbr0,ip=dhcp"])],
      guestsElsewhere: [{ id: "102", node: "pve2" }],
      virtualMachines: [{ id: "101", configuration: "memory: 2048\n" }],
    });
    expect(printed(taken).block("containers")).toMatchObject({
      ml: { vmId: 103, rootDisk: { storage: "local-lvm" }, gpus: ["rtx-a6000-0", "rtx-a6000-1"] },
    });
  });
});

describe("a host with a deployed stack", () => {
  test("is described with the driver that is there and the container that has the cards", () => {
    const { block, text } = printed(recorded("deployed"));
    expect(block("driver")).toMatchObject({ version: "580.105.08", modules: "open" });
    expect(block("gpus")).toMatchObject({
      "rtx-a6000-0": { uuid: "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1" },
    });
    expect(block("containers")).toEqual({
      ml: {
        vmId: 129,
        template: expect.objectContaining({ sha256: "unknown" }) as object,
        cores: 2,
        memoryGiB: 4,
        rootDisk: { storage: "local-lvm", sizeGiB: 16 },
        network: {
          bridge: "vmbr0",
          address: "192.0.2.129/24",
          gateway: "192.0.2.1",
          dns: ["192.0.2.1"],
        },
        gpus: ["rtx-a6000-0", "rtx-a6000-1"],
        mounts: [{ source: "/srv/models", target: "/models", readOnly: true }],
        tags: ["gpu", "ml"],
      },
    });
    expect(text).toContain("} # 0000:41:00.0, /dev/nvidia0, nvidia, in container 129");
  });

  test("lacks nothing but secrets and checksums", () => {
    expect(findings(recorded("deployed"))).toEqual([
      "missing-secret apiToken",
      "unknown-pin driver.installer.sha256",
      "unknown-pin containers.ml.template.sha256",
    ]);
  });

  test("shows other containers as comments that are entries once their marks are gone", () => {
    const deployed = recorded("deployed");
    const dns = foreign("105", [
      "hostname: Name.Server",
      "cores: 1",
      "memory: 1536",
      "swap: 512",
      "onboot: 1",
      "net0: name=eth0,bridge=vmbr1,ip=192.0.2.105/24,gw=192.0.2.1",
      "mp0: local-lvm:vm-105-disk-1,mp=/data,size=4G",
      "mp1: /srv/zones,mp=/zones",
      "[before-upgrade]",
      "mp2: /srv/old,mp=/old",
    ]);
    const { text } = printed({ ...deployed, containers: [...deployed.containers, dns] });
    const commented = text
      .split("\n")
      .filter((line) => line.startsWith("    # "))
      .join("\n");
    expect(commented).toContain(
      "mp0 is a volume (local-lvm:vm-105-disk-1,mp=/data,size=4G): a stack leaves it alone",
    );
    const uncommented = text.replace(/^ {4}# (?=.*: | {2}|[a-z-]+:$)/gm, "    ");
    expect(parse(uncommented.replace(/^ {4}(?=container|mp0).*$/gm, ""))).toMatchObject({
      config: {
        "proxmox-gpu-stack:containers": {
          "name-server": {
            vmId: 105,
            adopt: true,
            hostname: "Name.Server",
            unprivileged: false,
            memoryGiB: 1.5,
            swapGiB: 0.5,
            mounts: [{ source: "/srv/zones", target: "/zones", readOnly: false }],
          },
        },
      },
    });
  });
});

describe("cards that a container cannot have", () => {
  test("stand as comments that name the virtual machine", () => {
    const deployed = recorded("deployed");
    const [first, second] = deployed.cards;
    const facts = {
      ...deployed,
      cards: [first, { ...second, driver: "vfio-pci", uuid: "", minor: "" }] as HostFacts["cards"],
      virtualMachines: [{ id: "200", configuration: "hostpci0: 61:00,pcie=1\n" }],
    };
    const { text, block } = printed(facts);
    expect(Object.keys(block("gpus"))).toEqual(["rtx-a6000-0"]);
    expect(text).toMatch(
      /# .*RTX A6000.*0000:61:00\.0, vfio-pci, in virtual machine 200: not for containers/,
    );
  });

  test("or that the catalog does not know stand as comments with their PCI id", () => {
    const bare = recorded("bare");
    const cards = bare.cards.map((card) => ({ ...card, id: "10de:1eb8", name: "NVIDIA Tesla T4" }));
    const { text, block } = printed({ ...bare, cards });
    expect(block("gpus")).toEqual({});
    expect(block("containers")).toEqual({});
    expect(text).toContain("# NVIDIA Tesla T4 (10de:1eb8): 0000:41:00.0, nouveau: not in the catalog");
  });
});

describe("a container with its cards by raw lines", () => {
  const raw = foreign("129", [
    "hostname: ml",
    "lxc.cgroup2.devices.allow: c 195:* rwm",
    "lxc.mount.entry: /dev/nvidia1 dev/nvidia1 none bind,optional,create=file",
    "net0: name=eth0,bridge=vmbr0,ip=dhcp",
  ]);

  test("has its cards told by the minor numbers, never by an index, and a warning", () => {
    const { block, text } = printed(recorded("deployed", { containers: [raw] }));
    expect(block("containers")).toMatchObject({
      ml: {
        vmId: 129,
        adopt: true,
        gpus: ["rtx-a6000-1"],
        network: { address: "unknown", gateway: "unknown" },
      },
    });
    expect(text).toContain("# its address is by dhcp: a stack needs a fixed one");
    expect(text).toContain("# its cards come by raw lxc.* lines");
  });
});

test("a host without cards still becomes a stack file without errors", () => {
  const problems = findings(recorded("bare", { cards: [], nouveau: "no" }));
  expect(problems).toEqual(["missing-secret apiToken"]);
});

test("a driver of others and one that waits to be loaded are named", () => {
  const { text } = printed(
    recorded("deployed", {
      foreignDriver: "package nvidia-kernel-dkms\nDKMS module nvidia-current/535.1",
      driverLoaded: "535.1",
    }),
  );
  expect(text).toContain("# 580.105.08 is installed, 535.1 is loaded: a reload or a reboot is due");
  expect(text).toContain("package nvidia-kernel-dkms; DKMS module nvidia-current/535.1");
});
