/** The shapes of the catalog's data. */

export type Severity = "error" | "warning" | "info";

/** One thing that is wrong, or worth knowing, about a planned service or host. */
export interface Finding {
  /** Id of the rule, for example "R28"; what an acknowledgement names. */
  readonly id: string;
  readonly severity: Severity;
  /** Where the value stands: `Facts.path` and the name of the setting. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
  /** Where the knowledge comes from. */
  readonly evidence: string;
  /** The owner's reason for overriding the rule; the finding then no longer refuses anything. */
  readonly acknowledged?: string;
}

/** A GPU model. */
export interface Gpu {
  /** Name in stack files, for example "rtx-a6000". */
  readonly name: string;
  readonly title: string;
  /** CUDA compute capability, [major, minor]. */
  readonly computeCapability: readonly [number, number];
  /** Memory in GiB, as sold. */
  readonly memoryGiB: number;
  /** Whether the cards of a host normally talk over NVLink (false: PCIe only). */
  readonly nvlink: boolean;
  /** PCI id, vendor:device, in lower case. */
  readonly pciId?: string;
  /** Kernel modules that drive the card. */
  readonly modules: readonly ("open" | "proprietary")[];
  /** First driver version that knows the card; absent: every driver that this project supports. */
  readonly minimumDriver?: string;
  readonly evidence: string;
}

/** Recurrent-state (Gated DeltaNet) layers of a hybrid model. */
export interface LinearAttention {
  readonly layers: number;
  readonly valueHeads: number;
  readonly keyHeads: number;
  readonly valueHeadSize: number;
  readonly keyHeadSize: number;
  /** Width of the convolution; absent: not known, its small state is not counted. */
  readonly convolutionKernel?: number;
}

/** What decides how a model can be served: from the catalog, or from a checkpoint's config.json. */
export interface ModelFacts {
  readonly architecture: string;
  /** Layers whose cache grows with the context. */
  readonly fullAttentionLayers: number;
  /** Query heads; absent: not known, divisibility is not checked. */
  readonly attentionHeads?: number;
  /** Key/value heads of ordinary attention; absent for MLA. */
  readonly keyValueHeads?: number;
  /** Size of one head of ordinary attention; absent for MLA. */
  readonly headSize?: number;
  /** Multi-head latent attention: one cache entry a token and layer, not divided by tensor parallelism. */
  readonly latentAttention?: { readonly rank: number; readonly ropeSize: number };
  /** Present for hybrid GDN models. */
  readonly linearAttention?: LinearAttention;
  readonly mixtureOfExperts: boolean;
  /** Longest context in tokens. */
  readonly contextLength: number;
  /** As SGLang's --quantization names it, or "compressed-tensors"; absent: unquantized. */
  readonly quantization?: string;
  /** Whether the checkpoint asks for an FP8 KV cache (R28). */
  readonly fp8KeyValueCache: boolean;
  /** Whether the checkpoint brings scaling factors for it (R29). */
  readonly keyValueScales: boolean;
  /** Weights on disk in bytes; absent: not known, the memory fit is not checked. */
  readonly weightsBytes?: number;
  /** Layers of multi-token prediction; 0: NEXTN is not possible. */
  readonly predictionLayers: number;
  /** Type of the recurrent state. */
  readonly stateType?: "float32" | "bfloat16" | "float16";
}

/** Speculative decoding as a card recommends it. */
export interface SpeculationAdvice {
  readonly algorithm: "nextn" | "eagle3";
  readonly steps: number;
  readonly topk: number;
  readonly draftTokens: number;
}

/** How answers are sampled; what is absent stays at the server's default. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
}

/** A model of the catalog: its facts, and what its card asks for. */
export interface CatalogModel extends ModelFacts {
  /** Name in stack files, for example "qwen3.6-27b". */
  readonly name: string;
  /** Repositories of the model hub that hold it. */
  readonly repos: readonly string[];
  /** First SGLang release that the card accepts. */
  readonly minimumRelease?: string;
  /** Releases that are known to have served it well. */
  readonly servedWith?: readonly string[];
  readonly reasoningParser?: string;
  readonly toolCallParser?: string;
  /** What the card states as server flags; the planner emits them. */
  readonly serving: { readonly contextLength?: number; readonly memFractionStatic?: number };
  readonly speculation?: SpeculationAdvice;
  /** Sampling by use, as the card states it. */
  readonly sampling: Readonly<Partial<Record<"thinking" | "coding" | "nonThinking", Sampling>>>;
  /** Fewest GPUs it is known to fit on, in words. */
  readonly minimumGpus: string;
  readonly evidence: string;
}

/** A development build of SGLang that somebody deployed. */
export interface DevelopmentBuild {
  readonly name: string;
  /** First digits of the commit; absent: the exact commit is not recorded. */
  readonly commit?: string;
  /** Date on the main branch. */
  readonly date: string;
  /** Releases that it lies between. */
  readonly after: string;
  readonly before: string;
  readonly evidence: string;
}

/** A package combination that is known to break. */
export interface PackageConstraint {
  readonly id: string;
  /** The package whose presence makes the constraint hold, with its versions. */
  readonly when: { readonly package: string; readonly versions: string };
  readonly package: string;
  /** Versions that work, as a PEP 440 specifier. */
  readonly versions: string;
  readonly consequence: string;
  readonly severity: Severity;
  readonly evidence: string;
}
