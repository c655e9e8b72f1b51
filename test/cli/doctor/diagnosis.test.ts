import { join } from "node:path";

import { diagnose } from "../../../cli/doctor/diagnosis";
import type { Finding } from "../../../cli/doctor/finding";
import type { HostFacts, KernelFacts } from "../../../cli/inventory/host-facts";
import { loadStackFile, PROJECT_DIRECTORY } from "../../../config/load";
import type { StackConfig } from "../../../config/schema";
import { foreign, recorded } from "../inventory/samples";

const LAB = loadStackFile(join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"));

/** The recorded facts on the addresses of Pulumi.lab.yaml. */
function onLab(name: "bare" | "deployed"): HostFacts {
  return JSON.parse(JSON.stringify(recorded(name)).replaceAll("192.0.2.", "10.77.0.")) as HostFacts;
}

function findings(facts: HostFacts, config: StackConfig = LAB, now = facts.clock): Finding[] {
  return diagnose(config, facts, { now, projectDirectory: PROJECT_DIRECTORY });
}

/** Problems of a host that differs from a good one, as "id: message". */
function problems(
  base: "bare" | "deployed",
  changes: Partial<HostFacts>,
  config = LAB,
  now?: number,
): string[] {
  const facts = { ...onLab(base), ...changes };
  const found = findings(facts, config, now ?? facts.clock).filter(({ state }) => state === "problem");
  for (const { fix } of found) expect(fix).toBeTruthy();
  return found.map(({ id, message }) => `${id}: ${message}`);
}

/** A kernel of the host without a driver; 6.8.12-4-pve is the running one. */
function kernel(release: string, changes: Partial<KernelFacts> = {}): KernelFacts {
  return { release, matters: "yes", headers: "available", module: "", kind: "", ...changes };
}

const withHost = (changes: object): StackConfig => ({ ...LAB, host: { ...LAB.host, ...changes } });

function withContainer(changes: object): StackConfig {
  const ml = LAB.containers["ml"];
  if (ml === undefined) throw new Error("Pulumi.lab.yaml has no container ml");
  return { ...LAB, containers: { ml: { ...ml, ...changes } } };
}

function withCard(changes: object): HostFacts["cards"] {
  const [first, second] = onLab("deployed").cards;
  return [first, { ...second, ...changes }] as HostFacts["cards"];
}

test.each(["bare", "deployed"] as const)("nothing stops an `up` on the %s lab host", (name) => {
  expect(problems(name, {})).toEqual([]);
});

describe("the host", () => {
  test.each<[string, Partial<HostFacts>, string]>([
    ["is another node", { node: "pve2" }, "node: the node is pve2, the stack says pve1"],
    ["is no Proxmox VE host", { pve: "" }, "pve-version: it is no Proxmox VE host: there is no pveversion"],
    [
      "is too old for devN",
      { pve: "8.0.4" },
      "pve-version: Proxmox VE 8.0.4; containers get devices by devN from 8.1 on",
    ],
    ["lets in somebody else than root", { user: "admin" }, "root: the connection is admin's"],
    [
      "has Secure Boot on and no key enrolled",
      { secureBoot: "yes", signingKeyEnrolled: "no" },
      "secure-boot: Secure Boot is on and the key that signs DKMS modules is not enrolled: the driver would not load",
    ],
    [
      "has a kernel whose headers nobody offers",
      { kernels: [kernel("6.8.12-4-pve", { headers: "unavailable" })] },
      "kernel-headers: no package offers the headers of kernel 6.8.12-4-pve",
    ],
  ])("%s", (_, changes, expected) => {
    expect(problems("bare", changes)).toEqual([expected]);
  });

  test("of Proxmox VE 9, or with Secure Boot and an enrolled key, is fine", () => {
    expect(problems("bare", { pve: "9.0.3", secureBoot: "yes", signingKeyEnrolled: "yes" })).toEqual([]);
    expect(problems("bare", { pve: "10.0.1" })).toEqual([]);
  });

  test("has a clock that is minutes off", () => {
    const { clock } = onLab("bare");
    expect(problems("bare", {}, LAB, clock + 300)).toEqual([
      "clock: the host's clock is 300 seconds behind this machine's: tickets and certificates fail",
    ]);
  });

  test("needs a reboot that the stack does not allow: nouveau, or another driver version loaded", () => {
    const never = withHost({ reboot: "never" });
    expect(problems("bare", {}, never)).toEqual([
      "reboot: a reboot is needed (nouveau holds the cards) and the stack says reboot: never",
    ]);
    expect(problems("deployed", {}, never)).toEqual([]);
    expect(problems("bare", { nouveau: "no" }, never)).toEqual([]);
    expect(problems("bare", { nouveau: "no", kernelInstalled: "no" }, never)).toEqual([
      "reboot: a reboot is needed (the running kernel 6.8.12-4-pve is not installed any more) and the stack says reboot: never",
    ]);
  });

  test("boots the next kernel where nobody offers headers of the running one", () => {
    const kernels = [kernel("6.8.12-4-pve", { headers: "unavailable" }), kernel("6.8.12-8-pve")];
    expect(problems("bare", { kernels })).toEqual([]);
    expect(problems("bare", { kernels, nouveau: "no" }, withHost({ reboot: "never" }))).toEqual([
      "reboot: a reboot is needed (the running kernel 6.8.12-4-pve can have no headers) and the stack says reboot: never",
    ]);
  });

  test("keeps old kernels without headers: they need no driver", () => {
    const old = kernel("6.8.4-2-pve", { matters: "no", headers: "unavailable" });
    expect(problems("bare", { kernels: [kernel("6.8.12-4-pve"), old] })).toEqual([]);
  });

  test("is rebooted with a warning that names the guests of others", () => {
    const facts = { ...onLab("bare"), containers: [foreign("105", ["hostname: dns"])] };
    expect(findings(facts)).toContainEqual(
      expect.objectContaining({
        id: "reboot",
        state: "warning",
        message: expect.stringContaining("container 105") as string,
      }),
    );
  });

  test("has too little room for driver and model, counted together on one file system", () => {
    const places = ["/usr", "/var/cache/proxmox-gpu-stack", "/srv/models/qwen3.6-tiny"];
    const free = (KiB: number) =>
      places.map((path) => ({ path, mount: "/", freeKiB: String(KiB), usedKiB: "" }));
    expect(problems("bare", { room: free(3 * 1024 ** 2) })).toEqual([
      "room: /: 3.0 GiB free, 3.5 GiB needed for the driver, the driver's installer, model qwen36",
    ]);
    expect(problems("bare", { room: free(4 * 1024 ** 2) })).toEqual([]);
    expect(problems("deployed", { room: free(1024 ** 2) })).toEqual([]);
  });
});

describe("the driver", () => {
  const another = { ...LAB.driver, version: "590.48.01" };
  const never = withHost({ reboot: "never" });

  test("that is loaded gives way to another version, but not where others use the cards and no reboot is allowed", () => {
    const gpuUsers = "process 77 (python3) on the host";
    expect(problems("deployed", {}, { ...never, driver: another })).toEqual([]);
    expect(problems("deployed", { gpuUsers }, { ...LAB, driver: another })).toEqual([]);
    expect(problems("deployed", { gpuUsers }, never)).toEqual([]);
    expect(problems("deployed", { gpuUsers }, { ...never, driver: another })).toEqual([
      "driver-loaded: driver 580.105.08 (open) is loaded, 590.48.01 (open) is declared, others use the cards (process 77 (python3) on the host), and the stack says reboot: never",
    ]);
  });

  test("with other kernel modules is another driver", () => {
    const changes = { driverLoadedKind: "proprietary", gpuUsers: "container 140 (other)" } as const;
    expect(problems("deployed", changes, never)).toEqual([
      expect.stringContaining(
        "driver 580.105.08 (proprietary) is loaded, 580.105.08 (open) is declared",
      ) as string,
    ]);
  });

  test("of others is refused, unless it is as declared or may be replaced", () => {
    const foreignDriver = "package nvidia-kernel-dkms\nDKMS module nvidia-current/535.1";
    expect(problems("bare", { foreignDriver })).toEqual([
      "driver-origin: another driver is there: package nvidia-kernel-dkms; DKMS module nvidia-current/535.1",
    ]);
    expect(
      problems("bare", { foreignDriver }, { ...LAB, driver: { ...LAB.driver, replaceExisting: true } }),
    ).toEqual([]);
    expect(problems("deployed", { foreignDriver })).toEqual([]);
    const kernels = [kernel("6.8.12-4-pve", { module: "535.1", kind: "open" })];
    expect(problems("deployed", { foreignDriver, kernels })).toHaveLength(1);
  });

  test("is kept out by a line that insists on nouveau", () => {
    const nouveauLoaders =
      "/etc/modules:3:nouveau\n/etc/modprobe.d/x.conf:1:install nouveau /sbin/modprobe -i nouveau";
    expect(problems("bare", { nouveauLoaders })).toEqual([
      "nouveau: modprobe's configuration says to load nouveau: /etc/modprobe.d/x.conf:1:install nouveau /sbin/modprobe -i nouveau",
    ]);
    expect(problems("bare", { nouveauLoaders: "/etc/modules:3:nouveau" })).toEqual([]);
  });
});

describe("the cards", () => {
  test("are there, but one is another one than declared", () => {
    const uuid = "GPU-00000000-0000-0000-0000-000000000000";
    expect(problems("deployed", { cards: withCard({ uuid }) })).toEqual([
      expect.stringContaining(
        "card: a6000-1: no card has GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2; there are 0000:41:00.0 GPU-3c1f7a52",
      ) as string,
    ]);
  });

  test("are not there: told by counting as long as no driver tells UUIDs", () => {
    const { cards } = onLab("bare");
    expect(problems("bare", { cards: cards.slice(0, 1) })).toEqual([
      "card-count: 1 of 2 declared cards of model rtx-a6000 can be used",
    ]);
  });

  test("are bound to vfio for a virtual machine", () => {
    const held = { driver: "vfio-pci", uuid: "", minor: "" };
    const virtualMachines = [{ id: "200", configuration: "hostpci0: 0000:61:00.0,pcie=1\n" }];
    expect(problems("deployed", { cards: withCard(held), virtualMachines })).toEqual([
      expect.stringMatching(
        /^card: a6000-1: no card has GPU-8e05.*0000:61:00\.0 is bound to vfio-pci for virtual machine 200$/,
      ) as string,
    ]);
  });

  test("are in a container of others", () => {
    const other = foreign("140", [
      "hostname: other",
      "dev0: path=/dev/nvidia1,mode=0666",
      "dev1: /dev/nvidiactl",
    ]);
    const { containers } = onLab("deployed");
    const changes = { containers: [...containers, other] };
    expect(problems("deployed", changes)).toEqual([
      "card-users: container 140 has 0000:61:00.0, which this stack declares: servers would compete for the same memory",
    ]);
    expect(problems("deployed", changes, withContainer({ shared: true }))).toEqual([]);
  });

  test("by slot: nothing there, or another model", () => {
    const config = (pci: string): StackConfig => ({
      ...LAB,
      gpus: { a: { model: "rtx-a6000", pci }, b: { model: "rtx-a6000", pci: "0000:41:00.0" } },
    });
    expect(problems("bare", {}, config("0000:81:00.0"))).toEqual([
      "card: a: no card at 0000:81:00.0; there are 0000:41:00.0, 0000:61:00.0",
    ]);
    const cards = onLab("deployed").cards.map((card) => ({ ...card, id: "10de:2bb1", name: "RTX PRO 6000" }));
    expect(
      problems(
        "deployed",
        { cards: [cards[1], onLab("deployed").cards[0]] as HostFacts["cards"] },
        config("0000:61:00.0"),
      ),
    ).toEqual(["card: a: at 0000:61:00.0 is RTX PRO 6000 (10de:2bb1), declared is rtx-a6000 (10de:2230)"]);
  });
});

describe("the containers", () => {
  const network = (changes: object) => ({ network: { ...LAB.containers["ml"]?.network, ...changes } });

  test.each<[string, Partial<HostFacts>, string]>([
    [
      "have an id of a container of others",
      { containers: [foreign("129", ["hostname: mail"])] },
      "container-id: ml: container 129 (mail) is not this stack's",
    ],
    [
      "have an id of a virtual machine",
      { virtualMachines: [{ id: "129", configuration: "" }] },
      "container-id: ml: 129 is a virtual machine",
    ],
    [
      "have an id of another node's guest",
      { guestsElsewhere: [{ id: "129", node: "pve2" }] },
      "container-id: ml: 129 is a guest of node pve2",
    ],
    [
      "have an address at which somebody answers",
      { usedAddresses: ["10.77.0.129"] },
      "address: ml: somebody answers at 10.77.0.129",
    ],
    [
      "have the address of a stopped container of others",
      { containers: [foreign("105", ["net0: name=eth0,ip=10.77.0.129/24"])] },
      "address: ml: 10.77.0.129 is the address of container 105",
    ],
    [
      "lie on a storage that keeps no root disks",
      { storages: "dir: local\n\tcontent vztmpl\nlvmthin: local-lvm\n\tcontent images\n" },
      "root-storage: ml: storage local-lvm keeps images, not rootdir",
    ],
    [
      "lie on a storage that is not there",
      { storages: "dir: local\n\tcontent vztmpl,rootdir\n" },
      "root-storage: ml: there is no storage local-lvm",
    ],
    [
      "lie on a storage of another node",
      { storages: "dir: local\n\tcontent vztmpl\nlvmthin: local-lvm\n\tcontent rootdir\n\tnodes pve7\n" },
      "root-storage: ml: storage local-lvm is not active on this node",
    ],
    [
      "lie on a storage that is switched off",
      { storages: "dir: local\n\tcontent vztmpl\nlvmthin: local-lvm\n\tcontent rootdir\n\tdisable\n" },
      "root-storage: ml: storage local-lvm is not active on this node",
    ],
    [
      "come from a template that its storage does not keep",
      { storages: "dir: local\n\tcontent iso\nlvmthin: local-lvm\n\tcontent rootdir\n" },
      "template-storage: ml: storage local keeps iso, not vztmpl",
    ],
    [
      "are larger than their storage",
      {
        storages: "dir: local\n\tcontent vztmpl\nzfspool: local-lvm\n\tcontent rootdir\n",
        storageStatus:
          "Name  Type Status Total Used Available %\nlocal dir active 90000000 1 80000000 1.00%\nlocal-lvm zfspool active 9000000 1 8388608 50.00%\n",
      },
      "root-storage: ml: local-lvm has 8 GiB free, the disk takes 16 GiB",
    ],
    [
      "use a bridge that is not there",
      { bridges: [{ name: "vmbr1", address: "" }] },
      "bridge: ml: there is no bridge vmbr0",
    ],
  ])("%s", (_, changes, expected) => {
    expect(problems("bare", changes)).toEqual([expected]);
  });

  test("of the stack itself are no problem, even on an address that answers", () => {
    expect(onLab("deployed").containers[0]?.id).toBe("129");
    expect(problems("deployed", { usedAddresses: ["10.77.0.129"] })).toEqual([]);
  });

  test("may be adopted where the stack file says what they have", () => {
    const lines = ["hostname: mail", "unprivileged: 1", "mp0: /srv/models,mp=/models,ro=1"];
    const mail = (more: readonly string[] = []) => ({ containers: [foreign("129", [...lines, ...more])] });
    const adopt = withContainer({ adopt: true });
    expect(problems("bare", mail(), adopt)).toEqual([]);
    expect(problems("bare", mail(["mp1: /srv/mail,mp=/mail"]), adopt)).toEqual([
      "container-id: ml: container 129 has the mount /srv/mail,mp=/mail, which the stack file does not say",
    ]);
    expect(problems("bare", mail(), withContainer({ adopt: true, unprivileged: false }))).toEqual([
      "container-id: ml: container 129 has unprivileged: true, which the stack file does not say",
    ]);
    expect(problems("bare", {}, adopt)).toEqual(["container-id: ml: there is no container 129 to adopt"]);
    expect(problems("deployed", {}, adopt)).toEqual([]);
  });

  test("with an address that nobody knows yet are not asked for", () => {
    expect(
      problems("bare", { usedAddresses: ["unknown"] }, withContainer(network({ address: "unknown" }))),
    ).toEqual([]);
  });
});
