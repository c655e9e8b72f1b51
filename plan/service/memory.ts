/** What fits into a GPU's memory: the arithmetic of SGLang's own memory pools. */
import { inRange, type Build, type Gpu } from "../../catalog";
import type { MemoryPlan, PlannedModel } from "./types";

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Free before loading, of the size as sold: 139.13 GiB on a card of 141 (a real 0.5.11 server). */
const USABLE = 0.987;
/** Left for activations and graphs: a server with 5.7 GiB outside its pools has run; below this none is known. */
export const ACTIVATION_MARGIN = 2 * GIB;
/** States kept for each running request: 3, and 2 more for extra_buffer (model_runner_kv_cache_mixin.py). */
const STATES = 3;
const EXTRA_STATES = 2;
/** `--mamba-full-memory-ratio` when it is not stated. */
const DEFAULT_STATE_RATIO = 0.9;
/** `--max-running-requests` that speculation sets (R16). */
const SPECULATIVE_REQUESTS = 48;
/** Numbers of requests that are tried where 48 do not fit. */
const SMALLER_REQUESTS = [40, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];
/** A context that the plan shortens is a multiple of this. */
const CONTEXT_STEP = 1024;

/** What decides about memory. */
export interface MemoryRequest {
  readonly build: Build;
  readonly gpu: Gpu;
  readonly model: PlannedModel & { readonly weightsBytes: number };
  readonly draftModel?: PlannedModel | undefined;
  readonly tensorParallel: number;
  readonly fraction: number | undefined;
  /** Context in tokens, stated or the model's own. */
  readonly contextLength: number;
  /** Whether the owner asked for this context. */
  readonly contextIsStated: boolean;
  readonly keyValueType: string;
  readonly draftTokens: number | undefined;
  readonly maxRunningRequests: number | undefined;
  readonly stateRatio: number | undefined;
  readonly extraBuffer: boolean;
}

const TYPE_BYTES: readonly [RegExp, number][] = [
  [/^(fp8|mxfp8)/, 1],
  [/^(fp4|nvfp4)/, 0.5625],
];

/** Bytes of KV cache that one token takes on one GPU. */
export function bytesPerToken(model: PlannedModel, tensorParallel: number, keyValueType: string): number {
  const type = keyValueType === "auto" && model.fp8KeyValueCache ? "fp8_e4m3" : keyValueType;
  const size = TYPE_BYTES.find(([pattern]) => pattern.test(type))?.[1] ?? 2;
  if (model.latentAttention !== undefined) {
    return model.fullAttentionLayers * (model.latentAttention.rank + model.latentAttention.ropeSize) * size;
  }
  const heads = Math.max(1, Math.ceil((model.keyValueHeads ?? 1) / tensorParallel));
  return model.fullAttentionLayers * 2 * heads * (model.headSize ?? 128) * size;
}

/** Bytes of one request's recurrent state on one GPU; 0 for models without. */
export function stateBytes(model: PlannedModel, tensorParallel: number): number {
  const linear = model.linearAttention;
  if (linear === undefined) return 0;
  const size = model.stateType === "bfloat16" || model.stateType === "float16" ? 2 : 4;
  const recurrent = (linear.valueHeads / tensorParallel) * linear.valueHeadSize * linear.keyHeadSize * size;
  const width = 2 * linear.keyHeads * linear.keyHeadSize + linear.valueHeads * linear.valueHeadSize;
  const convolution = (width / tensorParallel) * Math.max(0, (linear.convolutionKernel ?? 1) - 1) * 2;
  return linear.layers * (recurrent + convolution);
}

/** The share that the server chooses by itself (server_args.py, _handle_gpu_memory_settings), roughly. */
function estimatedFraction({ gpu, tensorParallel, draftTokens, model }: MemoryRequest): number {
  const total = gpu.memoryGiB * 1024;
  const large = gpu.memoryGiB >= 60;
  const chunk = large ? 8192 : 4096;
  const [few, many] = large ? [256, 512] : [32, 160];
  let reserved = 512 + chunk * 1.5 + (tensorParallel < 4 ? few : many) * 2 + (tensorParallel / 8) * 1024;
  if (large) reserved = Math.max(reserved, 10 * 1024);
  if (draftTokens !== undefined) reserved += 4 * 1024;
  // A model with a vision part gets between 80 and 95 % of the rest.
  const vision = model.architecture.endsWith("ForConditionalGeneration") ? 0.9 : 1;
  return ((total - reserved) / total) * vision;
}

/** The pools for a number of running requests and a ratio of states to KV. */
function pools(request: MemoryRequest, rest: number, running: number | undefined, ratio: number) {
  const state = stateBytes(request.model, request.tensorParallel);
  if (state === 0) return { draftStates: 0, statePool: 0, keyValuePool: rest, running };
  const drafts = request.draftTokens ?? 0;
  const each = STATES + (request.extraBuffer ? EXTRA_STATES : 0);
  const joint = inRange(request.build, { from: "0.5.13" });
  const reserved = joint ? 0 : state * (running ?? 0) * drafts;
  const budget = ((rest - reserved) * ratio) / (1 + ratio);
  const slots = Math.max(0, Math.floor(budget / (joint ? state * (1 + drafts / each) : state)));
  const possible = Math.min(running ?? Infinity, Math.floor(slots / each));
  const draftStates = joint ? state * possible * drafts : reserved;
  return {
    draftStates,
    statePool: slots * state,
    keyValuePool: rest - draftStates - slots * state,
    running: possible,
  };
}

function fits(request: MemoryRequest, plan: ReturnType<typeof pools>, context: number): boolean {
  const cell = bytesPerToken(request.model, request.tensorParallel, request.keyValueType);
  return plan.keyValuePool >= context * cell && (plan.running ?? 1) >= 1;
}

/** The smallest ratio of states to KV, in steps of a thousandth, that serves `running` requests. */
function smallestRatio(request: MemoryRequest, rest: number, running: number): number {
  const state = stateBytes(request.model, request.tensorParallel);
  const each = STATES + (request.extraBuffer ? EXTRA_STATES : 0);
  const drafts = request.draftTokens ?? 0;
  const needed = running * each * state;
  const draftStates = state * running * drafts;
  const joint = inRange(request.build, { from: "0.5.13" });
  const part = joint ? needed + draftStates : needed;
  const whole = joint ? rest : rest - draftStates;
  return Math.ceil((part / Math.max(1, whole - part)) * 1000 + 0.5) / 1000;
}

interface Choice {
  readonly plan: ReturnType<typeof pools>;
  readonly requests: number | undefined;
  readonly ratio: number | undefined;
}

/**
 * The pools for a context: the server's defaults where they hold the context and all requests; else the most
 * requests that do, with a smaller share of states where that is needed.
 */
function choose(request: MemoryRequest, rest: number, context: number): Choice | undefined {
  const speculative = request.draftTokens !== undefined && request.model.linearAttention !== undefined;
  const usual = request.maxRunningRequests ?? (speculative ? SPECULATIVE_REQUESTS : undefined);
  const ratio = request.stateRatio ?? DEFAULT_STATE_RATIO;
  const first = pools(request, rest, usual, ratio);
  const firstFits = fits(request, first, context);
  if (firstFits && first.running === usual) return { plan: first, requests: undefined, ratio: undefined };
  if (request.model.linearAttention !== undefined && usual !== undefined) {
    const candidates =
      request.maxRunningRequests !== undefined ? [request.maxRunningRequests] : SMALLER_REQUESTS;
    const ratios = request.stateRatio === undefined ? [undefined, "smallest"] : [undefined];
    for (const requests of candidates) {
      for (const kind of ratios) {
        const tried = kind === undefined ? ratio : smallestRatio(request, rest, requests);
        const plan = pools(request, rest, requests, tried);
        if (tried <= ratio && plan.running === requests && fits(request, plan, context)) {
          return { plan, requests, ratio: kind === undefined ? undefined : tried };
        }
      }
    }
  }
  return firstFits ? { plan: first, requests: undefined, ratio: undefined } : undefined;
}

/** The longest context that some choice of pools holds; 0 when there is none. */
function largestContext(request: MemoryRequest, rest: number): number {
  let [low, high] = [0, Math.floor(request.model.contextLength / CONTEXT_STEP)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (choose(request, rest, middle * CONTEXT_STEP) === undefined) high = middle - 1;
    else low = middle;
  }
  return low * CONTEXT_STEP;
}

/** The outcome: a plan that fits, with what it had to change, or why nothing does. */
export type MemoryOutcome =
  | {
      readonly kind: "fits";
      readonly memory: MemoryPlan;
      readonly shortened: boolean;
      readonly requests: number | undefined;
    }
  | { readonly kind: "refused"; readonly memory: MemoryPlan; readonly largestContext: number };

/** Bytes that the server takes outside its share: the draft's own KV cache. */
export function draftBytes(request: MemoryRequest, tokens: number): number {
  if (request.draftTokens === undefined) return 0;
  const { model, draftModel, tensorParallel, keyValueType } = request;
  if (draftModel !== undefined) return tokens * bytesPerToken(draftModel, tensorParallel, keyValueType);
  const layer = bytesPerToken(model, tensorParallel, keyValueType) / model.fullAttentionLayers;
  return tokens * layer * model.predictionLayers;
}

/** Plans the memory of one GPU of the service. */
export function planMemory(request: MemoryRequest): MemoryOutcome {
  const available = request.gpu.memoryGiB * USABLE * GIB;
  const fraction = request.fraction ?? estimatedFraction(request);
  const weights = request.model.weightsBytes / request.tensorParallel;
  const rest = available * fraction - weights;
  const cell = bytesPerToken(request.model, request.tensorParallel, request.keyValueType);
  const describe = (choice: Choice | undefined, contextLength: number): MemoryPlan => {
    const plan = choice?.plan ?? pools(request, rest, request.maxRunningRequests ?? 1, DEFAULT_STATE_RATIO);
    return {
      available,
      fraction,
      fractionIsEstimated: request.fraction === undefined,
      weights,
      draftStates: plan.draftStates,
      statePool: plan.statePool,
      keyValuePool: plan.keyValuePool,
      bytesPerToken: cell,
      tokens: Math.max(0, Math.floor(plan.keyValuePool / cell)),
      contextLength,
      maxRunningRequests: plan.running,
      stateRatio: choice?.ratio,
    };
  };
  const asked = choose(request, rest, request.contextLength);
  if (asked !== undefined) {
    const memory = describe(asked, request.contextLength);
    return { kind: "fits", memory, shortened: false, requests: asked.requests };
  }
  const largest = largestContext(request, rest);
  const shorter = largest === 0 ? undefined : choose(request, rest, largest);
  if (request.contextIsStated || shorter === undefined) {
    return { kind: "refused", memory: describe(undefined, request.contextLength), largestContext: largest };
  }
  return { kind: "fits", memory: describe(shorter, largest), shortened: true, requests: shorter.requests };
}

/** MiB that each GPU must have free before a start: the server's share and a margin. */
export function freeMiB(memory: MemoryPlan): number {
  return Math.floor(Math.min(memory.available, memory.available * memory.fraction + ACTIVATION_MARGIN) / MIB);
}
