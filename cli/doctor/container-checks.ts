/** Whether the stack's containers can be made on the host: ids, storages, bridges, addresses. */
import { hostPart } from "../../config/addresses";
import { UNKNOWN, type StackConfig } from "../../config/schema";
import { freeId } from "../inventory/container-block";
import { parseGuest, properties } from "../inventory/guest-configuration";
import type { ContainerFacts, HostFacts } from "../inventory/host-facts";
import { parseStorages, type Storage } from "../inventory/storages";
import { ok, problem, warning, type Finding } from "./finding";

type Container = StackConfig["containers"][string];

/** Room for a template's file; the largest of Proxmox VE's own list takes a third of it. */
const TEMPLATE_GIB = 1;

const addressOf = (container: Container): string => hostPart(container.network.address);

function addressIn(facts: ContainerFacts): string | undefined {
  return properties(parseGuest(facts.configuration).option("net0") ?? "")["ip"]?.split("/")[0];
}

/** The addresses to ask for, without those nobody knows yet. */
export function declaredAddresses(config: StackConfig): string[] {
  return Object.values(config.containers)
    .map(addressOf)
    .filter((address) => address !== UNKNOWN);
}

/** What an adopted container has and the stack does not declare: an adoption would lose it, so it is refused. */
function adoptionObstacles(found: ContainerFacts, declared: Container): string[] {
  const guest = parseGuest(found.configuration);
  const unprivileged = guest.option("unprivileged") === "1";
  const storage = (guest.option("rootfs") ?? "").split(":")[0] ?? "";
  const mounts = guest.options(/^mp\d+$/).filter(({ value }) => value.startsWith("/"));
  const undeclared = mounts.filter(({ value }) => {
    const source = value.split(",")[0];
    const target = properties(value)["mp"];
    return !declared.mounts.some((mount) => mount.source === source && mount.target === target);
  });
  return [
    ...(unprivileged === declared.unprivileged ? [] : [`unprivileged: ${unprivileged}`]),
    ...(storage === declared.rootDisk.storage ? [] : [`its root disk on ${storage}`]),
    ...undeclared.map(({ value }) => `the mount ${value}`),
  ];
}

function adoptionCheck(name: string, container: Container, found: ContainerFacts | undefined): Finding {
  const id = "container-id";
  if (found === undefined)
    return problem(
      id,
      `${name}: there is no container ${container.vmId} to adopt`,
      "correct vmId, or leave adopt out to have it made",
    );
  const obstacles = adoptionObstacles(found, container);
  return obstacles.length === 0
    ? ok(id, `${name}: container ${found.id} is adopted as it is`)
    : problem(
        id,
        `${name}: container ${found.id} has ${obstacles.join(", ")}, which the stack file does not say`,
        "write into the stack file what it has",
      );
}

function idCheck(name: string, container: Container, facts: HostFacts): Finding {
  const id = String(container.vmId);
  const fix = `choose another id: pulumi config set --path 'proxmox-gpu-stack:containers.${name}.vmId' ${freeId(facts)}`;
  const machine = facts.virtualMachines.find((candidate) => candidate.id === id);
  if (machine !== undefined) return problem("container-id", `${name}: ${id} is a virtual machine`, fix);
  const elsewhere = facts.guestsElsewhere.find((candidate) => candidate.id === id);
  if (elsewhere !== undefined)
    return problem("container-id", `${name}: ${id} is a guest of node ${elsewhere.node}`, fix);
  const found = facts.containers.find((candidate) => candidate.id === id);
  if (found?.managed === "yes") return ok("container-id", `${name}: container ${id} is there`);
  if (container.adopt) return adoptionCheck(name, container, found);
  if (found === undefined) return ok("container-id", `${name}: id ${id} is free`);
  const hostname = parseGuest(found.configuration).option("hostname") ?? "no host name";
  return problem(
    "container-id",
    `${name}: container ${id} (${hostname}) is not this stack's`,
    `${fix}; or adopt it (docs/how-to/adopt-a-container.md)`,
  );
}

function storageCheck(
  id: string,
  place: string,
  wanted: { readonly storage: string; readonly content: string; readonly sizeGiB?: number },
  storages: readonly Storage[],
): Finding {
  const storage = storages.find(({ name }) => name === wanted.storage);
  const candidates = storages
    .filter(({ content, usable }) => usable && content.includes(wanted.content))
    .map(({ name }) => name);
  const fix = `name one of: ${candidates.join(", ") || "none has that content"}`;
  if (storage === undefined) return problem(id, `${place}: there is no storage ${wanted.storage}`, fix);
  if (!storage.usable)
    return problem(
      id,
      `${place}: storage ${wanted.storage} is not active on this node`,
      `activate it, or ${fix}`,
    );
  if (!storage.content.includes(wanted.content))
    return problem(
      id,
      `${place}: storage ${wanted.storage} keeps ${storage.content.join(", ")}, not ${wanted.content}`,
      `pvesm set ${wanted.storage} --content ${[...storage.content, wanted.content].join(",")}, or ${fix}`,
    );
  const free = storage.freeKiB === undefined ? undefined : storage.freeKiB / 1024 ** 2;
  if (free !== undefined && wanted.sizeGiB !== undefined && free < wanted.sizeGiB)
    return storage.type === "lvmthin"
      ? warning(
          id,
          `${place}: ${wanted.storage} has ${Math.floor(free)} GiB free for a disk that may grow to ${wanted.sizeGiB} GiB`,
          "make room before it grows",
        )
      : problem(
          id,
          `${place}: ${wanted.storage} has ${Math.floor(free)} GiB free, the disk takes ${wanted.sizeGiB} GiB`,
          `make room, or ${fix}`,
        );
  return ok(id, `${place}: storage ${wanted.storage} keeps ${wanted.content}`);
}

function bridgeCheck(name: string, container: Container, facts: HostFacts): Finding {
  const { bridge } = container.network;
  const names = facts.bridges.map((candidate) => candidate.name);
  return names.includes(bridge)
    ? ok("bridge", `${name}: bridge ${bridge} is there`)
    : problem(
        "bridge",
        `${name}: there is no bridge ${bridge}`,
        `name one of: ${names.join(", ") || "none is there; make one in the host's network settings"}`,
      );
}

function addressCheck(name: string, container: Container, facts: HostFacts): Finding[] {
  const address = addressOf(container);
  if (address === UNKNOWN) return [];
  const fix = `take a free address: pulumi config set --path 'proxmox-gpu-stack:containers.${name}.network.address' ADDRESS/PREFIX`;
  const holders = facts.containers.filter((found) => addressIn(found) === address);
  const other = holders.find(({ id }) => id !== String(container.vmId));
  if (other !== undefined)
    return [problem("address", `${name}: ${address} is the address of container ${other.id}`, fix)];
  const own = holders.some(({ id }) => id === String(container.vmId));
  if (facts.usedAddresses.includes(address) && !own)
    return [problem("address", `${name}: somebody answers at ${address}`, fix)];
  return [ok("address", `${name}: ${address} is ${own ? "its own" : "free"}`)];
}

export function containerChecks(config: StackConfig, facts: HostFacts): Finding[] {
  const storages = parseStorages(facts.storages, facts.storageStatus, facts.node);
  return Object.entries(config.containers).flatMap(([name, container]) => {
    const exists = facts.containers.some(({ id }) => id === String(container.vmId));
    const { storage, sizeGiB } = container.rootDisk;
    return [
      idCheck(name, container, facts),
      storageCheck(
        "root-storage",
        name,
        { storage, content: "rootdir", ...(exists ? {} : { sizeGiB }) },
        storages,
      ),
      storageCheck(
        "template-storage",
        name,
        { storage: container.template.storage, content: "vztmpl", sizeGiB: TEMPLATE_GIB },
        storages,
      ),
      bridgeCheck(name, container, facts),
      ...addressCheck(name, container, facts),
    ];
  });
}
