/** A model's facts from the `config.json` of its checkpoint. */
import type { LinearAttention, ModelFacts } from "./types";

type Config = Readonly<Record<string, unknown>>;

const asObject = (value: unknown): Config =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Config) : {};
const asNumber = (value: unknown) => (typeof value === "number" ? value : undefined);
const asText = (value: unknown) => (typeof value === "string" ? value : undefined);

const LINEAR_KEYS = [
  "linear_num_key_heads",
  "linear_num_value_heads",
  "linear_key_head_dim",
  "linear_value_head_dim",
  "linear_conv_kernel_dim",
] as const;

/** Every key of the text model: those of `text_config` win over the root's. */
function textConfig(config: Config): Config {
  return { ...config, ...asObject(config["text_config"]) };
}

/** How many of the layers are linear: by the list of layers, or by the interval of the full ones. */
function linearLayers(text: Config, layers: number): number {
  const types = text["layer_types"];
  if (Array.isArray(types)) return types.filter((type) => type === "linear_attention").length;
  const interval = asNumber(text["full_attention_interval"]);
  const hasHeads = LINEAR_KEYS.every((key) => asNumber(text[key]) !== undefined);
  return interval === undefined || !hasHeads ? 0 : layers - Math.floor(layers / interval);
}

function linearAttention(text: Config, layers: number): LinearAttention | undefined {
  const [keyHeads, valueHeads, keyHeadSize, valueHeadSize, kernel] = LINEAR_KEYS.map((key) =>
    asNumber(text[key]),
  );
  if (layers === 0 || valueHeads === undefined || keyHeads === undefined) return undefined;
  if (keyHeadSize === undefined || valueHeadSize === undefined) return undefined;
  return {
    layers,
    valueHeads,
    keyHeads,
    valueHeadSize,
    keyHeadSize,
    ...(kernel === undefined ? {} : { convolutionKernel: kernel }),
  };
}

/** The quantization in SGLang's words, and what it says about the KV cache. */
function quantization(config: Config, text: Config, modelopt: Config) {
  const inline = asObject(config["quantization_config"] ?? text["quantization_config"]);
  const stated = Object.keys(inline).length > 0 ? inline : asObject(modelopt["quantization"]);
  const method = asText(stated["quant_method"]) ?? (Object.keys(stated).length > 0 ? "modelopt" : undefined);
  const algorithm = asText(stated["quant_algo"])?.toUpperCase();
  const cache =
    asText(stated["kv_cache_quant_algo"]) ?? (stated["kv_cache_scheme"] == null ? undefined : "FP8");
  const names: Readonly<Record<string, string>> = {
    NVFP4: "modelopt_fp4",
    FP4: "modelopt_fp4",
    FP8: "modelopt_fp8",
    MIXED_PRECISION: "modelopt_mixed",
  };
  return {
    method: method === "modelopt" ? names[algorithm ?? ""] : method,
    fp8Cache: cache?.toUpperCase() === "FP8",
  };
}

/**
 * The facts of a checkpoint.
 *
 * @param config its `config.json`, parsed
 * @param extra its `hf_quant_config.json`, parsed, where it has one, and the size of its weights in bytes
 * @throws Error that names what the file lacks
 */
export function describeCheckpoint(
  config: unknown,
  extra: { readonly quantization?: unknown; readonly weightsBytes?: number } = {},
): ModelFacts {
  const root = asObject(config);
  const text = textConfig(root);
  const architectures = root["architectures"] ?? text["architectures"];
  const architecture = Array.isArray(architectures) ? asText(architectures[0]) : undefined;
  const layers = asNumber(text["num_hidden_layers"]);
  const contextLength = asNumber(text["max_position_embeddings"]);
  const missing = Object.entries({
    architectures: architecture,
    num_hidden_layers: layers,
    max_position_embeddings: contextLength,
  }).flatMap(([key, value]) => (value === undefined ? [key] : []));
  if (architecture === undefined || layers === undefined || contextLength === undefined) {
    throw new Error(
      `config.json has no ${missing.join(", ")} (looked in text_config and at the root): is it a language model's?`,
    );
  }
  const linear = linearAttention(text, linearLayers(text, layers));
  const heads = asNumber(text["num_attention_heads"]);
  const rank = asNumber(text["kv_lora_rank"]);
  const ropeSize = asNumber(text["qk_rope_head_dim"]);
  const hiddenSize = asNumber(text["hidden_size"]);
  const derivedHead = hiddenSize !== undefined && heads !== undefined ? hiddenSize / heads : undefined;
  const headSize = asNumber(text["head_dim"]) ?? derivedHead;
  const experts = asNumber(text["num_experts"]) ?? asNumber(text["n_routed_experts"]) ?? 0;
  const { method, fp8Cache } = quantization(root, text, asObject(extra.quantization));
  const stateType = asText(text["mamba_ssm_dtype"]) as ModelFacts["stateType"];
  return {
    architecture,
    fullAttentionLayers: layers - (linear?.layers ?? 0),
    ...(heads === undefined ? {} : { attentionHeads: heads }),
    ...(rank !== undefined && ropeSize !== undefined
      ? { latentAttention: { rank, ropeSize } }
      : {
          keyValueHeads: asNumber(text["num_key_value_heads"]) ?? heads ?? 1,
          ...(headSize === undefined ? {} : { headSize }),
        }),
    ...(linear === undefined ? {} : { linearAttention: linear }),
    mixtureOfExperts: experts > 1,
    contextLength,
    ...(method === undefined ? {} : { quantization: method }),
    fp8KeyValueCache: fp8Cache,
    keyValueScales: fp8Cache,
    ...(extra.weightsBytes === undefined ? {} : { weightsBytes: extra.weightsBytes }),
    predictionLayers:
      asNumber(text["mtp_num_hidden_layers"]) ?? asNumber(text["num_nextn_predict_layers"]) ?? 0,
    ...(stateType === undefined ? {} : { stateType }),
  };
}
