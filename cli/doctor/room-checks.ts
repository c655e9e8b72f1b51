/** Whether what is downloaded and built on the host has room there. */
import type { StackConfig } from "../../config/schema";
import { serviceInput } from "../../plan/service";
import type { HostFacts } from "../inventory/host-facts";
import { ok, problem, type Finding } from "./finding";

const GIB = 1024 ** 2; // in KiB

/** Something that will lie on the host. */
export interface Need {
  readonly what: string;
  readonly path: string;
  readonly KiB: number;
  /** Needed for as long as the declared driver is not installed; of others, what lies at the path already counts. */
  readonly driver: boolean;
}

/** Libraries and modules with compiler and headers; the installer unpacks itself beside them. */
const DRIVER_KIB = 3 * GIB;
const INSTALLER_KIB = 0.5 * GIB;

const INSTALLERS = "/var/cache/proxmox-gpu-stack";

/** Weights by the model's path, of models whose size is known. */
function modelNeeds(config: StackConfig, projectDirectory: string): Need[] {
  const sizes = new Map<string, number>();
  for (const service of Object.values(config.services)) {
    const { model, draftModel } = serviceInput(config, service, projectDirectory);
    const named = [
      [service.model, model],
      [service.speculative?.draftModel, draftModel],
    ] as const;
    for (const [name, facts] of named)
      if (name !== undefined && facts?.weightsBytes !== undefined) sizes.set(name, facts.weightsBytes);
  }
  return [...sizes].flatMap(([name, bytes]) => {
    const path = config.models[name]?.path;
    return path === undefined ? [] : [{ what: `model ${name}`, path, KiB: bytes / 1024, driver: false }];
  });
}

/** What an `up` will put on the host, as far as its size is known. Templates and root disks are their storages' business. */
export function needsOf(config: StackConfig, projectDirectory: string): Need[] {
  return [
    { what: "the driver", path: "/usr", KiB: DRIVER_KIB, driver: true },
    { what: "the driver's installer", path: INSTALLERS, KiB: INSTALLER_KIB, driver: true },
    ...modelNeeds(config, projectDirectory),
  ];
}

/** Needs on one file system add up. */
export function roomChecks(config: StackConfig, facts: HostFacts, projectDirectory: string): Finding[] {
  const installed = facts.driverLibraries === config.driver.version;
  const open = needsOf(config, projectDirectory).flatMap((need) => {
    const place = facts.room.find(({ path }) => path === need.path);
    if (place === undefined || (installed && need.driver)) return [];
    const there = need.driver ? 0 : Number(place.usedKiB);
    return [{ ...need, place, KiB: Math.max(0, need.KiB - there) }];
  });
  const mounts = [...new Set(open.map(({ place }) => place.mount))];
  return mounts.map((mount) => {
    const here = open.filter(({ place }) => place.mount === mount);
    const wanted = here.reduce((sum, { KiB }) => sum + KiB, 0);
    const free = Number(here[0]?.place.freeKiB);
    const names = here.filter(({ KiB }) => KiB > 0).map(({ what }) => what);
    const inGiB = (KiB: number): string => `${(KiB / GIB).toFixed(1)} GiB`;
    if (names.length === 0) return ok("room", `${mount}: everything is there, ${inGiB(free)} free`);
    const message = `${mount}: ${inGiB(free)} free, ${inGiB(wanted)} needed for ${names.join(", ")}`;
    return free < wanted
      ? problem(
          "room",
          message,
          `make room below ${mount}, or move a path of the stack to another file system`,
        )
      : ok("room", message);
  });
}
