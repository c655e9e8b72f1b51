import type { CatalogModel, Finding, ModelFacts } from "../../catalog";
import type { ResolvedService } from "../../config/schema";

/** A model as a plan needs it: from the catalog, or described by its checkpoint. */
export type PlannedModel = ModelFacts & Partial<CatalogModel>;

/** Everything that decides how a server is started: plain data. */
export interface ServiceInput {
  /** Path of the service in the stack file, for findings. */
  readonly path: string;
  /** What the owner chose. */
  readonly service: Pick<
    ResolvedService,
    | "release"
    | "modelPath"
    | "draftModelPath"
    | "servedModelName"
    | "listen"
    | "port"
    | "tensorParallel"
    | "contextLength"
    | "memFractionStatic"
    | "kvCacheDtype"
    | "attentionBackend"
    | "moeRunnerBackend"
    | "fp4GemmBackend"
    | "quantization"
    | "speculative"
    | "mambaScheduler"
    | "reasoningParser"
    | "toolCallParser"
    | "disableCustomAllReduce"
    | "metrics"
    | "maxRunningRequests"
    | "env"
    | "extraArgs"
    | "acknowledge"
  > &
    // Of one container's own server: none.
    Partial<Pick<ResolvedService, "nodes" | "startTimeoutMinutes">>;
  /** Names of the GPU models, one entry a card of the service. */
  readonly gpus: readonly string[];
  /** Undefined: neither in the catalog nor described; the rules that need facts are left out. */
  readonly model?: PlannedModel | undefined;
  readonly draftModel?: PlannedModel | undefined;
  /** Names of the patches in the environment. */
  readonly patches?: readonly string[];
  /** Packages of the environment's lock, normalised name to version. */
  readonly packages?: Readonly<Record<string, string>> | undefined;
  /** Python of the environment, "3.11". */
  readonly python?: string | undefined;
}

/** How the memory of one GPU is used. Sizes in bytes. */
export interface MemoryPlan {
  /** What the server finds free before it loads. */
  readonly available: number;
  /** Share of it for weights and pools. */
  readonly fraction: number;
  /** The share is an estimate of the server's own choice, because none is stated. */
  readonly fractionIsEstimated: boolean;
  readonly weights: number;
  /** Recurrent states that verification of draft tokens needs. */
  readonly draftStates: number;
  /** Recurrent states of running and cached requests. */
  readonly statePool: number;
  readonly keyValuePool: number;
  readonly bytesPerToken: number;
  /** Tokens that the KV pool holds. */
  readonly tokens: number;
  readonly contextLength: number;
  /** Requests at once that the pools allow; undefined: the server decides. */
  readonly maxRunningRequests: number | undefined;
  /** Share of states to KV that was planned because the default does not fit; undefined: the default. */
  readonly stateRatio: number | undefined;
}

/** A service, planned. */
export interface ServicePlan {
  /** Arguments after `-m sglang.launch_server`, in the release's own spelling. */
  readonly args: readonly string[];
  /** Environment variables that the plan and the owner ask for. */
  readonly env: Readonly<Record<string, string>>;
  /** Version that /server_info must show; undefined for development builds, which show another. */
  readonly expectedVersion?: string;
  /** Values that /server_info must show once the server runs. */
  readonly expectedServerInfo: Readonly<Record<string, string | number | boolean>>;
  /** What the rules say, errors first. */
  readonly findings: readonly Finding[];
  /** Undefined when the model's size or the GPU is not known. */
  readonly memory?: MemoryPlan;
  /** Tokens that the KV pool will hold; only where the memory fraction is stated. */
  readonly plannedMaxTotalTokens?: number;
  /** MiB that must be free on each GPU before a start. */
  readonly freeMiBPerGpu?: number;
  readonly weightsBytes?: number;
  /** The card's sampling, for the semantic probe. */
  readonly sampling?: Pick<CatalogModel["sampling"], "thinking" | "nonThinking">;
}
