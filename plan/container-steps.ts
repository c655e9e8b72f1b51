import type { MountConfig, StackConfig } from "../config/schema";
import { WHEELHOUSE_TARGET } from "../config/schema/wheelhouse";
import { driverIdentity } from "./driver";
import { cardId } from "./host-steps";
import { scriptText, stepDigest, shortDigest } from "./script";
import { HOST, inContainer, step, type Step } from "./step";

type ContainerConfig = StackConfig["containers"][string];

/** One container: what the API makes, and the steps after it. */
export interface ContainerPlan {
  readonly name: string;
  readonly settings: ContainerConfig;
  /** Volume id of the template, written out: a literal keeps trap T3 shut. */
  readonly templateId: string;
  readonly templateFile: string;
  /** `ostype` of Proxmox VE, told by the template's name. */
  readonly operatingSystem: string;
  /** Before the API is asked for the container: nobody else has its id. */
  readonly claim: Step;
  readonly attach: Step;
  /** Only for a container with GPUs. */
  readonly userland: Step | undefined;
  readonly cuda: Step | undefined;
}

const OPERATING_SYSTEMS = [
  "debian",
  "devuan",
  "ubuntu",
  "centos",
  "fedora",
  "opensuse",
  "archlinux",
  "alpine",
  "gentoo",
  "nixos",
];

/** Proxmox VE's name of a template's system: template names start with it (`debian-12-standard_…`). */
export function operatingSystemOf(templateFile: string): string {
  return OPERATING_SYSTEMS.find((name) => templateFile.startsWith(`${name}-`)) ?? "unmanaged";
}

/** The file name at the end of an address. */
export function fileNameOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
}

/** Bind mounts as the scripts take them. */
function mountsArgument({ mounts }: ContainerConfig): string {
  return mounts.map((mount) => `${mount.source}:${mount.target}:${mount.readOnly ? "ro" : "rw"}`).join(",");
}

/** Identifies what the API changes in place. */
function apiDigest(settings: ContainerConfig): string {
  const {
    cores,
    memoryGiB,
    swapGiB,
    rootDisk,
    hostname,
    network,
    description,
    tags,
    startOnBoot,
    startupOrder,
  } = settings;
  return shortDigest(
    JSON.stringify([cores, memoryGiB, swapGiB, rootDisk, hostname, network, description, [...tags].sort()]),
    JSON.stringify([startOnBoot, startupOrder]),
  );
}

function planClaim(name: string, settings: ContainerConfig): Step {
  return step({
    name: `${name}-claim`,
    target: HOST,
    script: "host/container-claim",
    args: {
      id: String(settings.vmId),
      diskGiB: String(settings.rootDisk.sizeGiB),
      // Whatever the API is to change is claimed again before: nobody else may hold the container then.
      settings: apiDigest(settings),
      adopt: settings.adopt ? "yes" : "no",
      ...(settings.adopt
        ? {
            unprivileged: settings.unprivileged ? "1" : "0",
            storage: settings.rootDisk.storage,
            mounts: mountsArgument(settings),
          }
        : {}),
    },
    timeoutMinutes: 20,
    removable: true,
    summary: settings.adopt
      ? `container ${settings.vmId}, which exists, can come under this stack as it is`
      : `the id ${settings.vmId} is free, or this stack's own`,
  });
}

function planContainer(config: StackConfig, name: string, settings: ContainerConfig): ContainerPlan {
  const templateFile = fileNameOf(settings.template.url);
  const { driver } = config;
  const cards = settings.gpus.flatMap((gpu) => {
    const card = config.gpus[gpu];
    return card === undefined ? [] : [{ name: gpu, id: cardId(card), hasUuid: card.uuid !== undefined }];
  });
  const claim = planClaim(name, settings);
  const attach = step({
    name: `${name}-attach`,
    target: HOST,
    script: "host/container-attach",
    args: {
      id: String(settings.vmId),
      // With their identities: another card under the same name is another device.
      cards: cards.map((card) => `${card.name}:${card.id}`).join(","),
      deviceMode: settings.deviceMode,
      mounts: mountsArgument(settings),
      unprivileged: settings.unprivileged ? "1" : "0",
      storage: settings.rootDisk.storage,
      cores: String(settings.cores),
      memory: String(settings.memoryGiB * 1024),
      swap: String(settings.swapGiB * 1024),
      hostname: settings.hostname,
      address: settings.network.address,
      // A new driver restarts the containers that use it: its device numbers may differ.
      ...(settings.gpus.length > 0 ? { driver: driverIdentity(driver) } : {}),
    },
    texts: { guard: scriptText("tools/container-guard.conf") },
    timeoutMinutes: 30,
    summary: `devices, mounts and nesting of container ${settings.vmId}; start it and see that it runs as planned`,
  });
  if (settings.gpus.length === 0) {
    return { ...base(name, settings, templateFile), claim, attach, userland: undefined, cuda: undefined };
  }
  const userland = step({
    name: `${name}-driver-userland`,
    target: HOST,
    script: "host/driver-userland",
    args: {
      id: String(settings.vmId),
      version: driver.version,
      sha256: driver.installer.sha256,
      replace: String(driver.replaceExisting),
    },
    timeoutMinutes: 30,
    summary: `libraries of driver ${driver.version} in container ${settings.vmId}, equal to the host's kernel module`,
  });
  const cuda = step({
    name: `${name}-cuda-check`,
    target: inContainer(settings.vmId),
    script: "container/cuda-check",
    args: {
      count: String(cards.length),
      // Cards known by their PCI address only are counted, not compared.
      uuids: cards.every(({ hasUuid }) => hasUuid) ? cards.map(({ id }) => id).join(",") : "",
      version: driver.version,
      // Whatever changes the container has it looked at again.
      after: shortDigest(JSON.stringify(attach.args), stepDigest(attach)),
    },
    texts: { "cuda-check.py": scriptText("tools/cuda-check.py") },
    timeoutMinutes: 15,
    summary: "nvidia-smi lists exactly the declared cards and a CUDA context opens on each",
  });
  return { ...base(name, settings, templateFile), claim, attach, userland, cuda };
}

function base(name: string, settings: ContainerConfig, templateFile: string) {
  return {
    name,
    settings,
    templateFile,
    templateId: `${settings.template.storage}:vztmpl/${templateFile}`,
    operatingSystem: operatingSystemOf(templateFile),
  };
}

/** The wheelhouse, read-only, for a container that holds an environment. */
function wheelhouseMount({ wheelhouse, environments }: StackConfig, name: string): MountConfig[] {
  const builds = Object.values(environments).some(({ container }) => container === name);
  if (wheelhouse === undefined || !builds) return [];
  return [{ source: wheelhouse.path, target: WHEELHOUSE_TARGET, readOnly: true }];
}

export function planContainers(config: StackConfig): ContainerPlan[] {
  return Object.entries(config.containers).map(([name, settings]) =>
    planContainer(config, name, {
      ...settings,
      mounts: [...settings.mounts, ...wheelhouseMount(config, name)],
    }),
  );
}
