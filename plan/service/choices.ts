/** What the plan chooses where the owner did not: nothing is left to a default that the rules call dangerous. */
import { inRange, type Build, type Gpu } from "../../catalog";
import type { PlannedModel, ServiceInput } from "./types";

/** Every choice that becomes a flag; what is undefined is left to the server. */
export interface Choices {
  readonly tensorParallel: number;
  readonly contextLength: number | undefined;
  readonly memFractionStatic: number | undefined;
  readonly attentionBackend: string | undefined;
  readonly keyValueType: string | undefined;
  readonly quantization: string | undefined;
  readonly moeRunner: string | undefined;
  readonly fp4Gemm: string | undefined;
  readonly scheduler: string | undefined;
  readonly reasoningParser: string | undefined;
  readonly toolCallParser: string | undefined;
  readonly draftTokens: number | undefined;
}

const isNvfp4 = (quantization: string | undefined) =>
  quantization === "modelopt_fp4" || quantization === "modelopt_mixed";

/** Attention: triton for hybrid GDN where the server would take what it then refuses (R1, R4), else its default (R5). */
function attention(gpu: Gpu | undefined, model: PlannedModel | undefined): string | undefined {
  const major = gpu?.computeCapability[0];
  if (major === undefined || model === undefined) return undefined;
  if (model.linearAttention !== undefined) return major === 8 ? "flashinfer" : "triton";
  if (![8, 12].includes(major)) return undefined;
  return model.latentAttention === undefined ? "flashinfer" : "triton";
}

/** The owner's settings, filled in from the model's card and from what the rules call safe. */
export function choose({ service, gpus, model }: ServiceInput, gpu: Gpu | undefined): Choices {
  const { speculative } = service;
  const quantization =
    service.quantization ??
    (model?.quantization?.startsWith("modelopt") === true ? model.quantization : undefined);
  const fp4 = isNvfp4(quantization ?? model?.quantization) && gpu?.computeCapability[0] === 12;
  const scheduler =
    model?.linearAttention !== undefined && speculative !== undefined ? "extra_buffer" : undefined;
  return {
    tensorParallel: service.tensorParallel ?? gpus.length * (service.nodes?.count ?? 1),
    contextLength: service.contextLength ?? model?.serving?.contextLength,
    memFractionStatic: service.memFractionStatic ?? model?.serving?.memFractionStatic,
    attentionBackend: service.attentionBackend ?? attention(gpu, model),
    // R28: `auto` would silently become FP8.
    keyValueType: service.kvCacheDtype ?? (model?.fp8KeyValueCache === true ? "bf16" : undefined),
    quantization,
    // R21, R43
    moeRunner:
      service.moeRunnerBackend ??
      (fp4 && model?.mixtureOfExperts === true ? "flashinfer_cutlass" : undefined),
    // R25
    fp4Gemm: service.fp4GemmBackend ?? (fp4 ? "flashinfer_cudnn" : undefined),
    // R7
    scheduler: service.mambaScheduler ?? scheduler,
    reasoningParser: service.reasoningParser ?? model?.reasoningParser,
    toolCallParser: service.toolCallParser ?? model?.toolCallParser,
    // R13
    draftTokens:
      speculative === undefined
        ? undefined
        : (speculative.draftTokens ?? (speculative.topk === 1 ? speculative.steps + 1 : undefined)),
  };
}

/** Variables that the choices need; the owner's own win. */
export function environment(
  { service, model }: ServiceInput,
  choices: Choices,
  build: Build,
  gpu: Gpu | undefined,
): Record<string, string> {
  const extraBuffer =
    choices.scheduler?.startsWith("extra_buffer") === true && service.speculative !== undefined;
  const weights = choices.quantization ?? model?.quantization;
  const sm120 = gpu?.computeCapability[0] === 12;
  const variables: Record<string, string> = {};
  // R11: needed in 0.5.10, harmless up to 0.5.13, dead afterwards.
  if (extraBuffer && inRange(build, { from: "0.5.10", before: "0.5.14" }))
    variables["SGLANG_ENABLE_SPEC_V2"] = "1";
  // R27
  if (sm120 && /^(modelopt|fp8)/.test(weights ?? "") && inRange(build, { before: "0.5.13" })) {
    variables["SGLANG_ENABLE_JIT_DEEPGEMM"] = "0";
  }
  return { ...variables, ...service.env };
}
