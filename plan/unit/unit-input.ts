import type { ResolvedService, StackConfig } from "../../config/schema";
import type { UnitInput } from "./types";

/** What the planner decides for one service: the server's own command line and environment. */
export interface ServiceCommand {
  /** Arguments of `sglang.launch_server`, in the release's own spelling. */
  readonly arguments: readonly string[];
  /** Variables of the server, those of the stack included. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Units of services that must not run beside this one, whichever of the two says so. */
export function conflictingUnits(config: StackConfig, service: ResolvedService): string[] {
  return Object.values(config.services)
    .filter((other) => other.name !== service.name && other.container === service.container)
    .filter(
      (other) => service.conflictsWith.includes(other.name) || other.conflictsWith.includes(service.name),
    )
    .map((other) => other.unit)
    .sort();
}

/** UUIDs of the service's cards, or undefined when it has all of its container. */
function visibleGpus(config: StackConfig, service: ResolvedService): string[] | undefined {
  const all = config.containers[service.container]?.gpus ?? [];
  if (all.every((gpu) => service.gpus.includes(gpu))) return undefined;
  return service.gpus.map((gpu) => config.gpus[gpu]?.uuid ?? "");
}

/**
 * Everything that the files of a service depend on.
 *
 * @throws Error when the stack has no such service
 */
export function unitInput(config: StackConfig, name: string, command: ServiceCommand): UnitInput {
  const service = config.services[name];
  const environment = service === undefined ? undefined : config.environments[service.environment];
  if (service === undefined || environment === undefined) throw new Error(`there is no service ${name}`);
  return {
    name,
    node: config.host.node,
    title: `SGLang ${service.release ?? "of unknown release"}: ${service.servedModelName}`,
    user: service.user,
    environmentPath: environment.path,
    modelPaths: [
      service.modelPath,
      ...(service.draftModelPath === undefined ? [] : [service.draftModelPath]),
    ],
    arguments: command.arguments,
    environment: command.environment,
    visibleGpus: visibleGpus(config, service),
    conflicts: conflictingUnits(config, service),
    startTimeoutMinutes: service.startTimeoutMinutes,
    stopTimeoutSeconds: service.stopTimeoutSeconds,
    probeIntervalMinutes: service.probeIntervalMinutes,
    onDegenerate: service.onDegenerate,
    apiKey: config.secrets.includes("serviceApiKey"),
  };
}
