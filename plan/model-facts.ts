import type { ModelFacts } from "../catalog";

/**
 * What a checkpoint's `config.json` must say where the plan was made with these facts, under its own keys (looked up in
 * `text_config` first); "quantization" and "linear_attention layers" stand for what several keys say together. Facts
 * that are not known are not compared.
 */
export function expectedConfig(facts: ModelFacts): Record<string, string | number | null> {
  const { linearAttention: linear, latentAttention: latent } = facts;
  const expected: Record<string, string | number | null | undefined> = {
    architectures: facts.architecture,
    num_hidden_layers: facts.fullAttentionLayers + (linear?.layers ?? 0),
    max_position_embeddings: facts.contextLength,
    num_attention_heads: facts.attentionHeads,
    num_key_value_heads: facts.keyValueHeads,
    head_dim: facts.headSize,
    kv_lora_rank: latent?.rank,
    qk_rope_head_dim: latent?.ropeSize,
    "linear_attention layers": linear?.layers ?? 0,
    linear_num_key_heads: linear?.keyHeads,
    linear_num_value_heads: linear?.valueHeads,
    linear_key_head_dim: linear?.keyHeadSize,
    linear_value_head_dim: linear?.valueHeadSize,
    quantization: facts.quantization ?? null,
  };
  return Object.fromEntries(
    Object.entries(expected).filter((entry): entry is [string, string | number | null] => {
      return entry[1] !== undefined;
    }),
  );
}
