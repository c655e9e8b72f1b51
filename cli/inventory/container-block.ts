/** One entry of `containers:`: a container that is there, or the one that a bare host could have. */
import { UNKNOWN } from "../../config/schema";
import { cardsIn, isFree, usesNvidia, type Card } from "./cards";
import {
  descriptionOf,
  nvidiaDevices,
  parseGuest,
  properties,
  sizeGiB,
  type GuestConfiguration,
} from "./guest-configuration";
import type { ContainerFacts, HostFacts } from "./host-facts";
import type { Storage } from "./storages";

export interface ContainerBlock {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** What a reader should know, one line each. */
  readonly notes: readonly string[];
}

/** The template of Proxmox VE's own list that the examples use. Only a new container is made from it. */
const TEMPLATE_URL = "http://download.proxmox.com/images/system/debian-12-standard_12.12-1_amd64.tar.zst";

/** Any text as the name of an entry. */
export function entryNameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return name === "" ? "guest" : name;
}

/** 512 MiB of memory and of swap are Proxmox VE's own defaults. */
function gibibytes(mebibytes = "512"): number {
  return Number(mebibytes) / 1024;
}

function network(guest: GuestConfiguration, notes: string[]): Record<string, unknown> {
  const net = properties(guest.option("net0") ?? "");
  const address = net["ip"] ?? "";
  const fixed = /^\d+\.\d+\.\d+\.\d+\/\d+$/.test(address);
  if (!fixed)
    notes.push(`its address is ${address === "" ? "not set" : `by ${address}`}: a stack needs a fixed one`);
  const others = guest.options(/^net[1-9]\d*$/).map(({ name }) => name);
  if (others.length > 0) notes.push(`further interfaces: ${others.join(", ")}; a stack leaves them alone`);
  const dns = guest
    .option("nameserver")
    ?.split(/[\s,]+/)
    .filter((word) => /^\d+(\.\d+){3}$/.test(word));
  const searchDomain = guest.option("searchdomain");
  return {
    bridge: net["bridge"] ?? "vmbr0",
    address: fixed ? address : UNKNOWN,
    gateway: net["gw"] ?? UNKNOWN,
    ...(dns !== undefined && dns.length > 0 ? { dns } : {}),
    ...(searchDomain === undefined ? {} : { searchDomain }),
  };
}

function mounts(guest: GuestConfiguration, notes: string[]): object[] {
  return guest.options(/^mp\d+$/).flatMap(({ name, value }) => {
    const source = value.split(",")[0] ?? "";
    const { mp, ro } = properties(value);
    if (source.startsWith("/") && mp !== undefined) return [{ source, target: mp, readOnly: ro === "1" }];
    notes.push(`${name} is a volume (${value}): a stack leaves it alone`);
    return [];
  });
}

function gpus(container: ContainerFacts, guest: GuestConfiguration, cards: readonly Card[], notes: string[]) {
  const mine = cardsIn(container.configuration, cards);
  const unnamed = mine.filter((card) => card.entry === undefined);
  if (unnamed.length > 0)
    notes.push(`it also has ${unnamed.map((card) => card.pci).join(", ")}, which the catalog does not know`);
  if (mine.length === 0 && usesNvidia(container.configuration))
    notes.push("it has NVIDIA device nodes; which cards they are shows only while the driver is loaded");
  const raw = guest.options(/^lxc\.(cgroup2?\.devices\.allow|mount\.entry)$/);
  if (raw.some(({ value }) => value.includes("nvidia") || /^c (195|5\d\d):/.test(value)))
    notes.push(
      "its cards come by raw lxc.* lines: take them out of its file before a stack gives it devN entries",
    );
  return mine.flatMap((card) => card.entry ?? []);
}

/** The entry of a container that is there. */
export function existingContainer(
  container: ContainerFacts,
  facts: HostFacts,
  cards: readonly Card[],
): ContainerBlock {
  const guest = parseGuest(container.configuration);
  const hostname = guest.option("hostname") ?? `guest-${container.id}`;
  const name = entryNameOf(hostname);
  const managed = container.managed === "yes";
  const notes = [
    `container ${container.id} (${hostname}), ${container.status}, ${managed ? "of a stack" : "of no stack: see docs/how-to/adopt-a-container.md"}`,
  ];
  if (guest.option("cores") === undefined)
    notes.push(`its cores are not limited: the host has ${facts.cores}`);
  const rootfs = guest.option("rootfs") ?? "";
  const mode = nvidiaDevices(guest)[0]?.mode;
  const cardNames = gpus(container, guest, cards, notes);
  const mountList = mounts(guest, notes);
  const tags = (guest.option("tags") ?? "").split(/[;,\s]+/).filter((tag) => tag !== "");
  const order = properties(guest.option("startup") ?? "")["order"];
  const swap = gibibytes(guest.option("swap"));
  const description = descriptionOf(container.configuration);
  return {
    name,
    notes,
    value: {
      vmId: Number(container.id),
      ...(managed ? {} : { adopt: true }),
      ...(hostname === name ? {} : { hostname }),
      template: { url: TEMPLATE_URL, sha256: UNKNOWN },
      ...(guest.option("unprivileged") === "1" ? {} : { unprivileged: false }),
      cores: Number(guest.option("cores") ?? facts.cores),
      memoryGiB: gibibytes(guest.option("memory")),
      ...(swap === 0 ? {} : { swapGiB: swap }),
      rootDisk: { storage: rootfs.split(":")[0] ?? "", sizeGiB: sizeGiB(properties(rootfs)["size"]) ?? 1 },
      network: network(guest, notes),
      ...(cardNames.length > 0 ? { gpus: cardNames } : {}),
      ...(mode === undefined || mode === "0666" ? {} : { deviceMode: mode }),
      ...(mountList.length > 0 ? { mounts: mountList } : {}),
      ...(guest.option("onboot") === "1" ? {} : { startOnBoot: false }),
      ...(order === undefined ? {} : { startupOrder: Number(order) }),
      ...(tags.length > 0 ? { tags } : {}),
      ...(description === "" ? {} : { description }),
    },
  };
}

/** The smallest guest id that nobody in the cluster has. */
export function freeId(facts: HostFacts): number {
  const { containers, virtualMachines, guestsElsewhere } = facts;
  const taken = new Set([...containers, ...virtualMachines, ...guestsElsewhere].map(({ id }) => Number(id)));
  let id = 100;
  while (taken.has(id)) id += 1;
  return id;
}

/** The entry of a new container with all cards, sized by the host: a proposal to be changed. */
export function proposedContainer(
  facts: HostFacts,
  cards: readonly Card[],
  storages: readonly Storage[],
): ContainerBlock {
  const keeps = (content: string) =>
    storages.find((storage) => storage.usable && storage.content.includes(content))?.name;
  const templates = keeps("vztmpl");
  return {
    name: "ml",
    notes: [
      "a proposal: no container has the cards yet. Its address and the template's checksum are yours to fill in",
    ],
    value: {
      vmId: freeId(facts),
      template: {
        url: TEMPLATE_URL,
        sha256: UNKNOWN,
        ...(templates === undefined || templates === "local" ? {} : { storage: templates }),
      },
      cores: facts.cores,
      memoryGiB: Math.max(1, Math.floor((facts.memoryKiB / 1024 ** 2) * 0.75)),
      rootDisk: { storage: keeps("rootdir") ?? "local-lvm", sizeGiB: 64 },
      network: {
        bridge: facts.bridges[0]?.name ?? "vmbr0",
        address: UNKNOWN,
        gateway: facts.gateway === "" ? UNKNOWN : facts.gateway,
      },
      gpus: cards.filter(isFree).flatMap((card) => card.entry ?? []),
      mounts: [{ source: "/srv/models", target: "/models" }],
    },
  };
}
