/** What `scripts/host/inventory.sh` reports, as typed data. */
import { HOST, step, type Step } from "../../plan/step";

type YesOrNo = "yes" | "no";

export interface KernelFacts {
  readonly release: string;
  /** Whether it runs or may boot next; older ones need no driver. */
  readonly matters: YesOrNo;
  readonly headers: "installed" | "available" | "unavailable" | "lists missing";
  /** Version of the NVIDIA module that it would load; empty: none. */
  readonly module: string;
  readonly kind: "open" | "proprietary" | "";
}

export interface CardFacts {
  /** `0000:41:00.0` */
  readonly pci: string;
  /** Vendor and device, `10de:2230`. */
  readonly id: string;
  /** Kernel driver that holds it: nvidia, nouveau, vfio-pci; empty: none. */
  readonly driver: string;
  /** Known while NVIDIA's driver is loaded, empty before. */
  readonly uuid: string;
  readonly minor: string;
  /** What the PCI list calls it. */
  readonly name: string;
}

export interface ContainerFacts {
  readonly id: string;
  readonly status: string;
  /** Its file in /etc/pve/lxc, snapshots included. */
  readonly configuration: string;
  /** Whether a stack made or adopted it. */
  readonly managed: YesOrNo;
}

export interface RoomFacts {
  readonly path: string;
  readonly mount: string;
  readonly freeKiB: string;
  /** Size of what lies at the path already; empty: nothing. */
  readonly usedKiB: string;
}

export interface HostFacts {
  readonly user: string;
  readonly node: string;
  /** Type and key, as `host.hostKey` takes it. */
  readonly hostKey: string;
  readonly sshPort: number | "";
  /** Version of pve-manager; empty: no Proxmox VE. */
  readonly pve: string;
  /** Whether the API has a certificate of the owner's. */
  readonly ownCertificate: YesOrNo;
  /** Release of the running kernel. */
  readonly kernel: string;
  /** An upgrade may have removed the running kernel. */
  readonly kernelInstalled: YesOrNo;
  readonly kernels: readonly KernelFacts[];
  readonly bootLoader: "proxmox-boot-tool" | "grub";
  readonly secureBoot: YesOrNo;
  /** Whether Secure Boot accepts modules that DKMS signs. */
  readonly signingKeyEnrolled: YesOrNo;
  readonly nouveau: YesOrNo;
  /** Lines of configuration that ask for nouveau, as FILE:NUMBER:TEXT. */
  readonly nouveauLoaders: string;
  readonly driverLoaded: string;
  readonly driverLoadedKind: "open" | "proprietary" | "";
  readonly driverLibraries: string;
  /** Parts of a driver that no stack put there, one a line. */
  readonly foreignDriver: string;
  /** Who uses the GPUs and is not of a stack, one a line. */
  readonly gpuUsers: string;
  readonly cards: readonly CardFacts[];
  readonly cores: number;
  readonly memoryKiB: number;
  readonly containers: readonly ContainerFacts[];
  readonly virtualMachines: readonly { readonly id: string; readonly configuration: string }[];
  readonly guestsElsewhere: readonly { readonly id: string; readonly node: string }[];
  /** /etc/pve/storage.cfg */
  readonly storages: string;
  /** Output of `pvesm status`; empty where it cannot be had. */
  readonly storageStatus: string;
  readonly bridges: readonly { readonly name: string; readonly address: string }[];
  readonly gateway: string;
  /** Seconds since 1970. */
  readonly clock: number;
  readonly clockSynchronized: string;
  readonly usedAddresses: readonly string[];
  readonly room: readonly RoomFacts[];
}

/** The step that looks; `addresses` are asked for whether somebody has them, `paths` for their free room. */
export function inventoryStep(
  wanted: { addresses?: readonly string[]; paths?: readonly string[] } = {},
): Step {
  const { addresses = [], paths = [] } = wanted;
  return step({
    name: "inventory",
    target: HOST,
    script: "host/inventory",
    args: {
      ...(addresses.length > 0 ? { addresses: addresses.join(",") } : {}),
      ...(paths.length > 0 ? { paths: paths.join(",") } : {}),
    },
    timeoutMinutes: 3,
    summary: "looks at the host and changes nothing",
  });
}

/** The script reports every fact: what is missing would be a fault of the program. */
export function hostFacts(reported: Readonly<Record<string, unknown>>): HostFacts {
  const facts = Object.fromEntries(
    Object.entries(reported).filter(([name]) => name !== "changed" && name !== "differences"),
  );
  // A text of digits has become a number on its way.
  const texts = ["node", "pve", "driverLoaded", "driverLibraries", "gateway"].map((name) => [
    name,
    String(facts[name]),
  ]);
  return { ...facts, ...Object.fromEntries(texts) } as unknown as HostFacts;
}
