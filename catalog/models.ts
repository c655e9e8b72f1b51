import type { CatalogModel } from "./types";

/** Models by name. Sizes and heads are those of the checkpoints' config.json. */
export const MODELS: readonly CatalogModel[] = [
  {
    name: "qwen3.6-27b",
    repos: ["Qwen/Qwen3.6-27B"],
    architecture: "Qwen3_5ForConditionalGeneration",
    fullAttentionLayers: 16,
    attentionHeads: 24,
    keyValueHeads: 4,
    headSize: 256,
    linearAttention: { layers: 48, valueHeads: 48, keyHeads: 16, valueHeadSize: 128, keyHeadSize: 128 },
    mixtureOfExperts: false,
    contextLength: 262_144,
    fp8KeyValueCache: false,
    keyValueScales: false,
    weightsBytes: 55_560_000_000,
    predictionLayers: 1,
    stateType: "float32",
    minimumRelease: "0.5.10",
    reasoningParser: "qwen3",
    toolCallParser: "qwen3_coder",
    serving: { contextLength: 262_144, memFractionStatic: 0.8 },
    speculation: { algorithm: "nextn", steps: 3, topk: 1, draftTokens: 4 },
    sampling: {
      thinking: { temperature: 1, topP: 0.95, topK: 20 },
      coding: { temperature: 0.6, topP: 0.95, topK: 20 },
      nonThinking: { temperature: 0.7, topP: 0.8, presencePenalty: 1.5 },
    },
    minimumGpus: "2 x 48 GB (25.9 GiB of weights on each)",
    evidence:
      "model card of Qwen/Qwen3.6-27B: sglang>=0.5.10, parsers, context, mem-fraction 0.8, MTP 3/1/4, sampling",
  },
  {
    name: "qwen3.5-397b-a17b-nvfp4",
    repos: ["nvidia/Qwen3.5-397B-A17B-NVFP4"],
    architecture: "Qwen3_5MoeForConditionalGeneration",
    fullAttentionLayers: 15,
    attentionHeads: 32,
    keyValueHeads: 2,
    headSize: 256,
    linearAttention: { layers: 45, valueHeads: 64, keyHeads: 16, valueHeadSize: 128, keyHeadSize: 128 },
    mixtureOfExperts: true,
    contextLength: 262_144,
    quantization: "modelopt_fp4",
    fp8KeyValueCache: true,
    keyValueScales: true,
    // Between 223 GB (download seen) and 250 GB (reports): the larger of the two exact figures.
    weightsBytes: 233_000_000_000,
    predictionLayers: 1,
    stateType: "float32",
    reasoningParser: "qwen3",
    toolCallParser: "qwen3_coder",
    serving: {},
    speculation: { algorithm: "nextn", steps: 3, topk: 1, draftTokens: 4 },
    sampling: { thinking: { temperature: 1, topP: 0.95, topK: 20 } },
    minimumGpus: "4 x 96 GB (tensor parallel 4 is the card's minimum)",
    evidence: "model card of nvidia/Qwen3.5-397B-A17B-NVFP4; SGLang's test_qwen35_fp4_mtp.py",
  },
  {
    name: "kimi-k2.5",
    repos: ["moonshotai/Kimi-K2.5"],
    architecture: "KimiK25ForConditionalGeneration",
    fullAttentionLayers: 61,
    latentAttention: { rank: 512, ropeSize: 64 },
    mixtureOfExperts: true,
    contextLength: 262_144,
    quantization: "compressed-tensors",
    fp8KeyValueCache: false,
    keyValueScales: false,
    weightsBytes: 630_000_000_000,
    predictionLayers: 0,
    reasoningParser: "kimi_k2",
    toolCallParser: "kimi_k2",
    serving: { memFractionStatic: 0.94 },
    speculation: { algorithm: "eagle3", steps: 3, topk: 1, draftTokens: 4 },
    sampling: {},
    minimumGpus: "8 x 96 GB (78.8 GB of weights on each)",
    evidence:
      "reports of 8x RTX PRO 6000: mem-fraction 0.94, bf16 KV, 170-232K tokens of context; size as Unsloth reports it; SGLang #17789 (model), #24826 (draft)",
  },
  {
    name: "kimi-k2.5-eagle3-mla",
    repos: ["lightseekorg/kimi-k2.5-eagle3-mla"],
    architecture: "Eagle3DeepseekV2ForCausalLM",
    fullAttentionLayers: 1,
    latentAttention: { rank: 512, ropeSize: 64 },
    mixtureOfExperts: false,
    contextLength: 262_144,
    fp8KeyValueCache: false,
    keyValueScales: false,
    predictionLayers: 0,
    minimumRelease: "0.5.12",
    serving: {},
    sampling: {},
    minimumGpus: "those of its target",
    evidence: "SGLang a87fb399de #24826: kimi_k25_eagle3.py, first in 0.5.12",
  },
  {
    name: "lab-qwen3.6-tiny",
    repos: ["lab/qwen3.6-tiny"],
    architecture: "Qwen3_5ForConditionalGeneration",
    fullAttentionLayers: 1,
    attentionHeads: 4,
    keyValueHeads: 2,
    headSize: 256,
    linearAttention: {
      layers: 3,
      valueHeads: 4,
      keyHeads: 2,
      valueHeadSize: 128,
      keyHeadSize: 128,
      convolutionKernel: 4,
    },
    mixtureOfExperts: false,
    contextLength: 32_768,
    fp8KeyValueCache: false,
    keyValueScales: false,
    weightsBytes: 32_000_000,
    predictionLayers: 1,
    stateType: "float32",
    minimumRelease: "0.5.10",
    reasoningParser: "qwen3",
    toolCallParser: "qwen3_coder",
    serving: { contextLength: 32_768 },
    speculation: { algorithm: "nextn", steps: 3, topk: 1, draftTokens: 4 },
    sampling: { thinking: { temperature: 1, topP: 0.95, topK: 20 } },
    minimumGpus: "any",
    evidence:
      "the lab's own stand-in for a model: 3 GDN layers, 1 full attention layer, as the tiny model that a real 0.5.11 served",
  },
];

const byName = new Map(MODELS.map((model) => [model.name, model]));
const byRepo = new Map(MODELS.flatMap((model) => model.repos.map((repo) => [repo.toLowerCase(), model])));

/** The model of that name in the catalog, or undefined. */
export function modelByName(name: string): CatalogModel | undefined {
  return byName.get(name);
}

/** The model that a repository of the model hub holds, or undefined. */
export function modelByRepo(repo: string): CatalogModel | undefined {
  return byRepo.get(repo.toLowerCase());
}
