/** What taking a stack out of service does, and what is lost with it. Plain data. */
import type { StackConfig } from "../config/schema";
import { unitsOf, type StackPlan } from "./stack";
import { HOST, inContainer, step, type Step } from "./step";

/** Something that goes, or stays, and what to know about it. */
export interface Belonging {
  readonly kind:
    "container" | "environment" | "wheels" | "service" | "model" | "data" | "wheelhouse" | "driver";
  readonly name: string;
  /** What it is, and where it could come from again. */
  readonly what: string;
}

export interface Inventory {
  readonly lost: readonly Belonging[];
  /** Empty for a host that is gone. */
  readonly kept: readonly Belonging[];
}

function containers(config: StackConfig): Belonging[] {
  return Object.entries(config.containers).map(([name, { vmId, rootDisk }]) => ({
    kind: "container",
    name,
    what: `${vmId}, with its root disk (${rootDisk.sizeGiB} GiB on ${rootDisk.storage}) and all that was only in it`,
  }));
}

function inContainers(config: StackConfig, plan: StackPlan): Belonging[] {
  return [
    ...plan.environments.map(({ name, digest }): Belonging => ({
      kind: "environment",
      name,
      what: `${digest}, built again from environments/${config.environments[name]?.lock ?? ""}`,
    })),
    ...plan.services.map(({ name, url }): Belonging => ({
      kind: "service",
      name,
      what: `sglang-${name}.service at ${url}, with its caches of compiled kernels`,
    })),
    ...plan.routers.map(({ name, url }): Belonging => ({
      kind: "service",
      name,
      what: `sglang-${name}.service at ${url}, the router of ${config.routers[name]?.replicas.length ?? 0} replicas`,
    })),
  ];
}

/** What lies on the host and is mounted, or was put there for the stack. */
function onHost(config: StackConfig, plan: StackPlan): Belonging[] {
  const models = Object.entries(config.models);
  const modelPaths = models.map(([, { path }]) => path);
  const folders = new Map(
    Object.values(config.containers)
      .flatMap(({ mounts }) => mounts)
      .map((mount) => [mount.source, mount]),
  );
  return [
    ...models.map(([name, { repo, revision, path }]): Belonging => ({
      kind: "model",
      name,
      what: `${repo} at ${revision.slice(0, 12)} in ${path}, fetched again from the hub`,
    })),
    ...[...folders.values()]
      // A folder of nothing but models is told above.
      .filter(
        ({ source, readOnly }) => !(readOnly && modelPaths.some((path) => path.startsWith(`${source}/`))),
      )
      .map(({ source, readOnly }): Belonging => ({
        kind: "data",
        name: source,
        what: readOnly
          ? `read by containers; only a copy of yours has it`
          : `written by containers; only a backup of yours has it`,
      })),
    ...(config.wheelhouse === undefined
      ? []
      : [
          {
            kind: "wheelhouse" as const,
            name: config.wheelhouse.path,
            what: `pushed again with ./stack wheelhouse push, from ${config.wheelhouse.mirror ?? "this machine's own copy"}`,
          },
        ]),
    ...plan.wheels.map(({ name }): Belonging => ({
      kind: "wheels",
      name,
      what: "compiled on this host: hours of work, unless the wheelhouse of another machine has them",
    })),
    {
      kind: "driver",
      name: config.driver.version,
      what: `NVIDIA's, with its DKMS modules and the blacklist of nouveau`,
    },
  ];
}

/**
 * What goes and what stays.
 *
 * @param dead the host is gone, with everything on it
 */
export function belongings(config: StackConfig, plan: StackPlan, dead: boolean): Inventory {
  const inside = [...containers(config), ...inContainers(config, plan)];
  const host = onHost(config, plan);
  return dead
    ? { lost: [...inside, ...host.filter(({ kind }) => kind !== "driver")], kept: [] }
    : { lost: inside, kept: host };
}

/** Steps that stop every service of the stack, so that none starts again by itself. */
export function drainSteps(config: StackConfig, plan: StackPlan): Step[] {
  // Routers first: nobody is sent to a replica that is on its way down.
  return unitsOf(plan)
    .reverse()
    .map(({ name, service }) =>
      step({
        name: `${name}-stop`,
        target: inContainer(config.containers[service.container]?.vmId ?? 0),
        script: "container/service-stop",
        args: { unit: service.unit, timers: `sglang-${name}-probe.timer` },
        timeoutMinutes: 5 + Math.ceil(service.stopTimeoutSeconds / 60),
        summary: `${service.unit}: ends the requests that it is answering, stops and is not started again`,
      }),
    );
}

/** Steps that back every container up. @param run names this attempt */
export function backupSteps(config: StackConfig, storage: string, run: string): Step[] {
  return Object.entries(config.containers).map(([name, { vmId }]) =>
    step({
      name: `${name}-backup`,
      target: HOST,
      script: "host/container-backup",
      args: { id: String(vmId), storage, run },
      timeoutMinutes: 1440,
      summary: `container ${vmId} into ${storage}, by vzdump`,
    }),
  );
}
