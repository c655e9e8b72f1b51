import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describeCheckpoint, modelByName, modelByRepo } from "../../catalog";

/** config.json of the families, reduced to what decides about serving. */
const QWEN = {
  architectures: ["Qwen3_5ForConditionalGeneration"],
  text_config: {
    num_hidden_layers: 64,
    full_attention_interval: 4,
    hidden_size: 5120,
    num_attention_heads: 24,
    num_key_value_heads: 4,
    head_dim: 256,
    linear_num_key_heads: 16,
    linear_num_value_heads: 48,
    linear_key_head_dim: 128,
    linear_value_head_dim: 128,
    linear_conv_kernel_dim: 4,
    mamba_ssm_dtype: "float32",
    mtp_num_hidden_layers: 1,
    max_position_embeddings: 262_144,
  },
};

describe("a checkpoint's config.json", () => {
  test("of Qwen3.6 is a dense hybrid with one prediction layer, as the catalog says", () => {
    const facts = describeCheckpoint(QWEN, { weightsBytes: 55_560_000_000 });
    const { linearAttention, ...others } = facts;
    const catalog = modelByName("qwen3.6-27b");
    expect(catalog).toMatchObject(others);
    expect(linearAttention).toEqual({ ...catalog?.linearAttention, convolutionKernel: 4 });
  });

  test("of NVFP4 tells quantization and KV cache, inline or in hf_quant_config.json", () => {
    const inline = {
      quant_method: "modelopt",
      quant_algo: "NVFP4",
      kv_cache_scheme: { type: "float", num_bits: 8 },
    };
    const config = { ...QWEN, text_config: { ...QWEN.text_config, num_experts: 512 } };
    const expected = { quantization: "modelopt_fp4", fp8KeyValueCache: true, mixtureOfExperts: true };
    expect(describeCheckpoint({ ...config, quantization_config: inline })).toMatchObject(expected);
    const apart = { quantization: { quant_algo: "NVFP4", kv_cache_quant_algo: "FP8" } };
    expect(describeCheckpoint(config, { quantization: apart })).toMatchObject(expected);
    const mixed = { quantization: { quant_algo: "MIXED_PRECISION" } };
    expect(describeCheckpoint(config, { quantization: mixed })).toMatchObject({
      quantization: "modelopt_mixed",
      fp8KeyValueCache: false,
    });
  });

  test("of Kimi is MLA, INT4 and not hybrid", () => {
    const facts = describeCheckpoint({
      architectures: ["KimiK25ForConditionalGeneration"],
      text_config: {
        num_hidden_layers: 61,
        num_attention_heads: 64,
        num_key_value_heads: 64,
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        n_routed_experts: 384,
        max_position_embeddings: 262_144,
        quantization_config: { quant_method: "compressed-tensors", format: "pack-quantized" },
      },
    });
    expect(facts).toEqual({
      architecture: "KimiK25ForConditionalGeneration",
      fullAttentionLayers: 61,
      attentionHeads: 64,
      latentAttention: { rank: 512, ropeSize: 64 },
      mixtureOfExperts: true,
      contextLength: 262_144,
      quantization: "compressed-tensors",
      fp8KeyValueCache: false,
      keyValueScales: false,
      predictionLayers: 0,
    });
  });

  test("of an ordinary model at the root is plain attention", () => {
    const facts = describeCheckpoint({
      architectures: ["LlamaForCausalLM"],
      num_hidden_layers: 32,
      hidden_size: 4096,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      max_position_embeddings: 8192,
    });
    expect(facts).toMatchObject({
      fullAttentionLayers: 32,
      keyValueHeads: 8,
      headSize: 128,
      mixtureOfExperts: false,
    });
    expect(facts.linearAttention).toBeUndefined();
  });

  test("with a list of layers counts them, whatever the interval says", () => {
    const layers = ["linear_attention", "linear_attention", "full_attention", "linear_attention"];
    const text = { ...QWEN.text_config, num_hidden_layers: 4, layer_types: layers };
    const facts = describeCheckpoint({ ...QWEN, text_config: text });
    expect([facts.fullAttentionLayers, facts.linearAttention?.layers]).toEqual([1, 3]);
  });

  test("that lacks what decides is refused by name", () => {
    expect(() => describeCheckpoint({ architectures: ["X"], num_hidden_layers: 2 })).toThrow(
      "config.json has no max_position_embeddings (looked in text_config and at the root): is it a language model's?",
    );
    expect(() => describeCheckpoint([])).toThrow(
      "config.json has no architectures, num_hidden_layers, max_position_embeddings",
    );
  });
});

test("the lab's model is in the catalog as its hub makes it", () => {
  const program = [
    "import json, sys",
    `sys.path.insert(0, ${JSON.stringify(join(__dirname, "..", "..", "lab", "hub"))})`,
    "import checkpoint",
    "files = checkpoint.qwen_files('lab/qwen3.6-tiny', 0.6)",
    "size = json.loads(files['model.safetensors.index.json'])['metadata']['total_size']",
    "print(json.dumps({'config': json.loads(files['config.json']), 'weightsBytes': size}))",
  ].join("\n");
  const made = JSON.parse(execFileSync("python3", ["-B", "-c", program], { encoding: "utf8" })) as {
    config: unknown;
    weightsBytes: number;
  };
  expect(modelByRepo("lab/qwen3.6-tiny")).toMatchObject(
    describeCheckpoint(made.config, { weightsBytes: made.weightsBytes }),
  );
});
