/** Which settings of a service go along to other cards, and which are decided anew there. */
import { gpuByName } from "../../catalog";
import { without, mappingOf, type Values } from "./values";

export interface CarriedSettings {
  readonly settings: Values;
  /** What stays behind, each with why. */
  readonly dropped: readonly string[];
}

/** Answers to the question which kernels a card runs best, or at all. */
const KERNELS = [
  "attentionBackend",
  "moeRunnerBackend",
  "fp4GemmBackend",
  "quantization",
  "disableCustomAllReduce",
];

/** Answers to the question how much fits into the cards. */
const SIZES = ["memFractionStatic", "maxRunningRequests"];

/** Variables that are tuned to one host's cards, buses and networks. */
const HOST_VARIABLES = /^(NCCL_|CUDA_|UCX_|GLOO_|NVSHMEM_|OMP_NUM_THREADS$|SGLANG_CPU_|NUMA_)/;

/** What is always written anew: names of entries, cards, and what refers to other services. */
const REFERENCES = [
  "environment",
  "model",
  "gpus",
  "conflictsWith",
  "tensorParallel",
  "enabled",
  "replaces",
  "acknowledge",
];

function isWritten(settings: Values, key: string): boolean {
  return settings[key] !== undefined;
}

function carriedEnvironment(settings: Values): { env: Values; dropped: string[] } {
  const env = mappingOf(settings, "env");
  const dropped = Object.keys(env).filter((name) => HOST_VARIABLES.test(name));
  return { env: without(env, ...dropped), dropped };
}

/**
 * The settings of a service that hold on other cards as well. What is dropped is planned anew from the model, the cards
 * and the release.
 *
 * @param settings as written in the stack file
 * @param from, to model and number of the cards
 */
export function carriedSettings(
  settings: Values,
  from: { model: string; count: number },
  to: { model: string; count: number },
): CarriedSettings {
  const rest = without(settings, ...REFERENCES, "env");
  const { env, dropped: variables } = carriedEnvironment(settings);
  const sameModel = from.model === to.model;
  const sameMemory =
    gpuByName(from.model)?.memoryGiB === gpuByName(to.model)?.memoryGiB && from.count === to.count;
  const keys = [
    ...(sameModel ? [] : KERNELS),
    ...(sameModel && from.count !== to.count ? ["disableCustomAllReduce"] : []),
    ...(sameMemory ? [] : SIZES),
  ].filter((key) => isWritten(rest, key));
  const kept = without(rest, ...keys);
  return {
    settings: Object.keys(env).length === 0 ? kept : { ...kept, env },
    dropped: [
      ...keys.map(
        (key) => `${key}: ${JSON.stringify(rest[key])} was chosen for ${from.count} x ${from.model}`,
      ),
      ...variables.map((name) => `env.${name} is tuned to the other host`),
    ],
  };
}
