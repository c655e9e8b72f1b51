import type { StackFile } from "./lab-stack";

type Entries = Record<string, Record<string, unknown>>;

/** `services`: each has a card, an environment and a service; `bare`: a small container and nothing in it. */
export type Content = "services" | "bare";

/** So many entries, each made from its number. */
function each(size: number, entry: (number: number) => [string, Record<string, unknown>]): Entries {
  return Object.fromEntries(Array.from({ length: size }, (_, index) => entry(index + 1)));
}

/** Containers `ml-1`, … like the lab's `ml`: ids from 1001 on, addresses from .101 on in the lab's network. */
function containers(ml: Record<string, unknown>, size: number, own: (number: number) => object): Entries {
  if (size > 150) throw new Error(`the lab's network has no room for ${size} containers`);
  const network = ml.network as { readonly address: string };
  const subnet = network.address.split(".").slice(0, 3).join(".");
  return each(size, (n) => [
    `ml-${n}`,
    { ...ml, vmId: 1000 + n, network: { ...network, address: `${subnet}.${100 + n}/24` }, ...own(n) },
  ]);
}

const ofLab = (file: StackFile, key: string, name: string): Record<string, unknown> =>
  (file[key] as Entries)[name] ?? {};

/** Small containers, without cards and mounts, made from the template of the lab's. */
export function smallContainers(file: StackFile, size: number): Entries {
  const small = {
    cores: 1,
    memoryGiB: 1,
    gpus: [],
    mounts: [],
    rootDisk: { storage: "local-lvm", sizeGiB: 2 },
    protect: false,
  };
  return containers(ofLab(file, "containers", "ml"), size, () => small);
}

/** Changes the lab's stack to one of `size` containers and nothing else. */
export function makeMany(file: StackFile, size: number, content: Content): void {
  if (content === "bare") {
    file.containers = smallContainers(file, size);
    for (const key of ["environments", "services", "models"]) file[key] = {};
    return;
  }
  const environment = ofLab(file, "environments", "ml-env");
  const service = ofLab(file, "services", "qwen");
  file.containers = containers(ofLab(file, "containers", "ml"), size, (n) => ({ gpus: [`card-${n}`] }));
  file.gpus = each(size, (n) => [
    `card-${n}`,
    { model: "rtx-a6000", uuid: `GPU-3c1f7a52-6a0e-4d1b-9f57-${String(n).padStart(12, "0")}` },
  ]);
  file.environments = each(size, (n) => [`env-${n}`, { ...environment, container: `ml-${n}` }]);
  file.services = each(size, (n) => [`qwen-${n}`, { ...service, environment: `env-${n}` }]);
}
