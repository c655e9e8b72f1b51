/** Flags and systems that the rows share. */

export const NEXTN = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1";
export const EXTRA = "--mamba-scheduler-strategy extra_buffer";
export const NEW_EXTRA = "--mamba-radix-cache-strategy extra_buffer";
export const LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy";
export const PRO = "rtx-pro-6000-blackwell";
export const QWEN = { gpu: PRO, model: "qwen3.6-27b" } as const;
export const NVFP4 = { gpu: PRO, model: "qwen3.5-397b-a17b-nvfp4", count: 8 } as const;
export const KIMI = { gpu: PRO, model: "kimi-k2.5", count: 8 } as const;
/** A Blackwell card of the SM100 family. */
export const SM100 = { ...QWEN, capability: [10, 0] } as const;
export const DECODE_ONLY = "--decode-attention-backend trtllm_mha --prefill-attention-backend flashinfer";
export const FP8 = { gpu: PRO, facts: { quantization: "fp8" } } as const;
