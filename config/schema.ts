/** The language of a stack file: one strict schema for each top-level key, and the types that follow from them. */
import { z } from "zod";
import { containersSchema, type ContainerConfig } from "./schema/containers";
import { driverSchema, type DriverConfig } from "./schema/driver";
import { environmentsSchema, type EnvironmentConfig } from "./schema/environments";
import { gpusSchema, type GpuConfig } from "./schema/gpus";
import { hostSchema, type HostConfig } from "./schema/host";
import { modelsSchema, type ModelConfig } from "./schema/models";
import { retiredSchema } from "./schema/retired";
import { routersSchema, type RouterConfig } from "./schema/routers";
import { servicesSchema, type ServiceConfig } from "./schema/services";
import { toolkitsSchema, type ToolkitConfig } from "./schema/toolkits";
import { wheelhouseSchema, type WheelhouseConfig } from "./schema/wheelhouse";

export type { MountConfig } from "./schema/containers";
export type {
  ContainerConfig,
  DriverConfig,
  EnvironmentConfig,
  GpuConfig,
  HostConfig,
  ModelConfig,
  RouterConfig,
  ServiceConfig,
  ToolkitConfig,
  WheelhouseConfig,
};
export { UNKNOWN } from "./schema/fields";

/** Namespace of the project's keys in a stack file. */
export const NAMESPACE = "proxmox-gpu-stack";

/** All structured keys of a stack file. */
export const stackSchema = z.strictObject({
  retired: retiredSchema.optional(),
  host: hostSchema,
  driver: driverSchema,
  gpus: gpusSchema,
  containers: containersSchema.default({}),
  wheelhouse: wheelhouseSchema.optional(),
  toolkits: toolkitsSchema.default({}),
  environments: environmentsSchema.default({}),
  models: modelsSchema.default({}),
  services: servicesSchema.default({}),
  routers: routersSchema.default({}),
});

/** Secrets: keys of their own, never inside a structure; they reach a machine on standard input only. */
export const SECRETS = {
  apiPassword: "Password of the API's user (`host.api.user`). Either this or `apiToken`.",
  apiToken: "API token, `user@realm!id=uuid`. Either this or `apiPassword`.",
  sshPrivateKey: "Private SSH key for root on the host. Without it, the SSH agent is used.",
  huggingFaceToken: "Token of the model hub, for gated models.",
  serviceApiKey:
    "Key that clients of the services must send. Without it, anyone who reaches the port is served.",
} as const;

export type SecretName = keyof typeof SECRETS;

/** A stack file after its checks: the values with their defaults, before references are followed. */
export type StackValues = z.output<typeof stackSchema>;

/** A service with everything that other keys decide about it. */
export interface ResolvedService extends Omit<ServiceConfig, "gpus" | "release" | "user"> {
  /** Name in the stack file. */
  readonly name: string;
  /** systemd unit, `sglang-<name>.service`. */
  readonly unit: string;
  /** Name of the container, from the environment. */
  readonly container: string;
  /** Names of the cards: those stated, or all of the container. */
  readonly gpus: readonly string[];
  /** SGLang release or commit: the one stated, or the lock's pin; undefined when neither tells it. */
  readonly release: string | undefined;
  /** Services that must not run beside this one, whichever of the two says so. */
  readonly conflictsWith: string[];
  /** Path of the model as the container sees it. */
  readonly modelPath: string;
  /** Path of the draft model as the container sees it. */
  readonly draftModelPath: string | undefined;
  /** System user that runs the server. */
  readonly user: string;
}

/** A router with everything that other keys decide about it. */
export interface ResolvedRouter extends Omit<RouterConfig, "replicas" | "servedModelName" | "user"> {
  /** Name in the stack file. */
  readonly name: string;
  /** systemd unit, `sglang-<name>.service`. */
  readonly unit: string;
  /** Name of the container, from the environment. */
  readonly container: string;
  /** The replicas as the router's container reaches them, and their names where they are services of this stack. */
  readonly replicas: readonly { readonly service: string | undefined; readonly url: string }[];
  readonly servedModelName: string;
  /** System user that runs the router. */
  readonly user: string;
}

/** A whole stack, checked: all references hold, defaults are filled in, checksums are read. */
export interface StackConfig {
  /** Where it came from, for messages: `Pulumi.kpro5.yaml` or a stack's name. */
  readonly source: string;
  /** Day on which the stack was taken out of service; undefined while it is in service. */
  readonly retired?: string | undefined;
  readonly host: HostConfig;
  /** `installer.url` has its version filled in, `installer.sha256` is a checksum or `unknown`. */
  readonly driver: DriverConfig;
  readonly gpus: Readonly<Record<string, GpuConfig>>;
  /** `hostname` is always set. */
  readonly containers: Readonly<Record<string, ContainerConfig & { hostname: string }>>;
  /** undefined: packages come from the index. */
  readonly wheelhouse?: WheelhouseConfig | undefined;
  /** `installer.url` has its version filled in, `installer.sha256` is a checksum or `unknown`. */
  readonly toolkits: Readonly<Record<string, ToolkitConfig>>;
  readonly environments: Readonly<Record<string, EnvironmentConfig>>;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly services: Readonly<Record<string, ResolvedService>>;
  readonly routers: Readonly<Record<string, ResolvedRouter>>;
  /** Which secrets the stack has. Their values are read by the program alone, as secrets. */
  readonly secrets: readonly SecretName[];
}
