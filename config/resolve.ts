import { urlOf } from "./addresses";
import { readLock } from "./lock";
import { pathInContainer } from "./mounts";
import type {
  ContainerConfig,
  ResolvedRouter,
  ResolvedService,
  SecretName,
  StackConfig,
  StackValues,
} from "./schema";

/** System user of a service that states none; the service's install step makes it. */
export const DEFAULT_USER = "sglang";

function mapped<T, R>(map: Readonly<Record<string, T>>, change: (name: string, value: T) => R) {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(name, value)]));
}

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is not there although the checks passed`);
  return value;
}

/** Services that must not run beside this one, whichever of the two says so. */
function conflictsOf(name: string, values: StackValues): string[] {
  const stated = values.services[name]?.conflictsWith ?? [];
  const others = Object.entries(values.services).filter(([, other]) => other.conflictsWith.includes(name));
  return [...new Set([...stated, ...others.map(([other]) => other)])].sort();
}

function resolveService(name: string, values: StackValues, projectDirectory: string): ResolvedService {
  const service = must(values.services[name], `service ${name}`);
  const environment = must(values.environments[service.environment], `environment ${service.environment}`);
  const container = must(values.containers[environment.container], `container ${environment.container}`);
  const inContainer = (model: string): string =>
    must(
      pathInContainer(must(values.models[model], `model ${model}`).path, container.mounts),
      `mount of ${model}`,
    );
  const draftModel = service.speculative?.draftModel;
  return {
    ...service,
    name,
    unit: `sglang-${name}.service`,
    container: environment.container,
    gpus: service.gpus ?? container.gpus,
    conflictsWith: conflictsOf(name, values),
    release: service.release ?? readLock(environment.lock, projectDirectory).release,
    modelPath: inContainer(service.model),
    draftModelPath: draftModel === undefined ? undefined : inContainer(draftModel),
    user: service.user ?? DEFAULT_USER,
  };
}

/** Where a router reaches a service of its stack: by the loopback device when the service listens nowhere else. */
function replicaUrl(name: string, values: StackValues): string {
  const { environment, listen, port } = must(values.services[name], `service ${name}`);
  const { container } = must(values.environments[environment], `environment ${environment}`);
  const { address } = must(values.containers[container], `container ${container}`).network;
  return urlOf({ listen, port }, address);
}

function resolveRouter(name: string, values: StackValues): ResolvedRouter {
  const router = must(values.routers[name], `router ${name}`);
  const environment = must(values.environments[router.environment], `environment ${router.environment}`);
  const named = router.replicas.flatMap((replica) => values.services[replica] ?? []);
  return {
    ...router,
    name,
    unit: `sglang-${name}.service`,
    container: environment.container,
    replicas: router.replicas.map((replica) =>
      values.services[replica] === undefined
        ? { service: undefined, url: replica }
        : { service: replica, url: replicaUrl(replica, values) },
    ),
    servedModelName: must(router.servedModelName ?? named[0]?.servedModelName, `model name of ${name}`),
    user: router.user ?? DEFAULT_USER,
  };
}

/**
 * Follows the references of values that passed every check.
 *
 * @param values checked values, with checksums resolved
 */
export function resolveStack(
  values: StackValues,
  source: string,
  secrets: readonly SecretName[],
  projectDirectory: string,
): StackConfig {
  return {
    ...values,
    source,
    secrets,
    containers: mapped(values.containers, (name, container): ContainerConfig & { hostname: string } => ({
      ...container,
      hostname: container.hostname ?? name,
    })),
    services: mapped(values.services, (name) => resolveService(name, values, projectDirectory)),
    routers: mapped(values.routers, (name) => resolveRouter(name, values)),
  };
}
