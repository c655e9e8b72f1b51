import { hostPart, localUrlOf } from "../config/addresses";
import type { ResolvedService, StackConfig } from "../config/schema";
import { driverIdentity } from "./driver";
import type { EnvironmentPlan } from "./environment-steps";
import { cardId } from "./host-steps";
import { shortDigest } from "./script";
import { planService, serviceInput, type ServicePlan } from "./service";
import { toolkitOf, toolkitPath } from "./toolkit-steps";
import { renderServiceFiles } from "./unit/service-files";
import { servicePaths } from "./unit/paths";
import { planUnit, type UnitPlan } from "./unit-step";
import type { UnitInput } from "./unit/types";

/** One inference service with its plan. */
export interface InferenceServicePlan extends UnitPlan {
  readonly service: ResolvedService;
  readonly plan: ServicePlan;
}

/** A card's sampling under the names of the request's fields. */
function requestFields(sampling: NonNullable<ServicePlan["sampling"]>) {
  return Object.fromEntries(
    Object.entries(sampling).map(([use, values]) => [
      use,
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        ]),
      ),
    ]),
  );
}

/** What the gate says and waits for where a server is spread over containers. */
function nodeOf({ rank, count, address, port }: NonNullable<ResolvedService["nodes"]>) {
  return { rank, count, meets: `${address}:${port}` };
}

/** What preflight, gate and repeated probe compare the server with. */
function specification(
  config: StackConfig,
  service: ResolvedService,
  plan: ServicePlan,
  environment: EnvironmentPlan,
): string {
  const cards = service.gpus.map((name) => config.gpus[name]).filter((gpu) => gpu !== undefined);
  const known = cards.every((gpu) => gpu.uuid !== undefined);
  const content = {
    service: service.name,
    unit: service.unit,
    url: localUrlOf(service),
    servedModelName: service.servedModelName,
    ...(plan.expectedVersion === undefined ? {} : { version: plan.expectedVersion }),
    expectedServerInfo: plan.expectedServerInfo,
    deadlineSeconds: service.startTimeoutMinutes * 60,
    ...(plan.plannedMaxTotalTokens === undefined
      ? {}
      : { plannedMaxTotalTokens: plan.plannedMaxTotalTokens }),
    ...(config.secrets.includes("serviceApiKey") ? { apiKeyFile: servicePaths(service.name).apiKey } : {}),
    ...(plan.sampling === undefined ? {} : { sampling: requestFields(plan.sampling) }),
    ...(service.nodes === undefined ? {} : { node: nodeOf(service.nodes) }),
    modelPath: service.modelPath,
    ...(service.draftModelPath === undefined ? {} : { draftModelPath: service.draftModelPath }),
    gpus: {
      count: cards.length,
      ...(known ? { uuids: cards.map(cardId) } : {}),
      ...(plan.freeMiBPerGpu === undefined ? {} : { freeMiB: plan.freeMiBPerGpu }),
    },
    environmentDigest: environment.digest,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Units that must not run beside this service's, whichever of the two says so. */
function conflictingUnits(config: StackConfig, service: ResolvedService): string[] {
  return Object.values(config.services)
    .filter((other) => other.name !== service.name && other.container === service.container)
    .filter(
      (other) => service.conflictsWith.includes(other.name) || other.conflictsWith.includes(service.name),
    )
    .map((other) => other.unit)
    .sort();
}

/** The ids of the service's cards, or undefined when it has all of its container. */
function visibleGpus(config: StackConfig, service: ResolvedService): string[] | undefined {
  const all = config.containers[service.container]?.gpus ?? [];
  if (all.every((gpu) => service.gpus.includes(gpu))) return undefined;
  return service.gpus.map((name) => config.gpus[name]).map((gpu) => (gpu === undefined ? "" : cardId(gpu)));
}

function unitInput(
  config: StackConfig,
  service: ResolvedService,
  plan: ServicePlan,
  environment: EnvironmentPlan,
): UnitInput {
  return {
    name: service.name,
    node: config.host.node,
    title: `SGLang ${service.release ?? "of unknown release"}: ${service.servedModelName}`,
    user: service.user,
    environmentPath: environment.path,
    modelPaths: [service.modelPath, service.draftModelPath].filter((path) => path !== undefined),
    arguments: plan.args,
    environment: plan.env,
    visibleGpus: visibleGpus(config, service),
    conflicts: conflictingUnits(config, service),
    startTimeoutMinutes: service.startTimeoutMinutes,
    stopTimeoutSeconds: service.stopTimeoutSeconds,
    probeIntervalMinutes: service.probeIntervalMinutes,
    onDegenerate: service.onDegenerate,
    isNode: service.nodes !== undefined,
    apiKey: config.secrets.includes("serviceApiKey"),
  };
}

/** The service with its environment's compiler: kernels that are compiled while it runs need it. A stated CUDA_HOME wins. */
function withToolkit(config: StackConfig, service: ResolvedService): ResolvedService {
  const environment = config.environments[service.environment];
  const toolkit = environment === undefined ? undefined : toolkitOf(config, environment);
  return toolkit === undefined
    ? service
    : { ...service, env: { CUDA_HOME: toolkitPath(toolkit), ...service.env } };
}

/**
 * A node with the addresses that the others reach it by. Gloo and the message queue look the host name up, which in a
 * container is a loopback address; NCCL would try every interface. A container has one, eth0.
 */
function withNodes(config: StackConfig, service: ResolvedService): ResolvedService {
  if (service.nodes === undefined) return service;
  const own = hostPart(config.containers[service.container]?.network.address ?? "");
  const network = { GLOO_SOCKET_IFNAME: "eth0", NCCL_SOCKET_IFNAME: "eth0", SGLANG_HOST_IP: own };
  return { ...service, env: { ...network, ...service.env } };
}

export function planServices(
  config: StackConfig,
  environments: readonly EnvironmentPlan[],
  projectDirectory: string,
): InferenceServicePlan[] {
  return Object.values(config.services).map((stated) => {
    const service = withNodes(config, withToolkit(config, stated));
    const environment = environments.find((candidate) => candidate.name === service.environment);
    const container = config.containers[service.container];
    const model = config.models[service.model];
    if (!environment || !container || !model)
      throw new Error(`service ${service.name}: a reference is broken`);
    const plan = planService(serviceInput(config, service, projectDirectory));
    const paths = servicePaths(service.name);
    const files = renderServiceFiles(unitInput(config, service, plan, environment));
    const gate = specification(config, service, plan, environment);
    // All that a running server was started with: when it changes, the server restarts.
    const restart = shortDigest(
      files[paths.unit] ?? "",
      files[paths.environmentFile] ?? "",
      environment.target,
      model.revision,
      driverIdentity(config.driver),
    );
    return {
      ...planUnit({
        service,
        container,
        environment,
        files,
        specification: gate,
        restart,
        arguments: plan.args,
        replaces: service.replaces,
        gate: "",
      }),
      service,
      plan,
    };
  });
}
