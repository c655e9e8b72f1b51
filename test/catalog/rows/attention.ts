import type { RuleRow } from "./rule-row";
import { NEXTN, QWEN, NVFP4, KIMI, SM100, DECODE_ONLY } from "./shared";

export const ATTENTION_ROWS: readonly RuleRow[] = [
  {
    rule: "R1",
    fires: [
      { ...QWEN, release: "0.5.9", args: "--attention-backend fa3" },
      { ...QWEN, release: "main-20260307", args: "--attention-backend fa3" },
      { ...QWEN, release: "0.5.15.post1", args: "--attention-backend fa3" },
      { ...QWEN, release: "0.5.16", args: "--attention-backend fa3" },
      { ...SM100, release: "0.5.15.post1", args: "--attention-backend fa3" },
      { ...SM100, release: "0.5.16", args: "--attention-backend fa3" },
      { ...SM100, release: "0.5.16", args: "--attention-backend flashinfer" },
      { ...SM100, release: "0.5.20", args: "--attention-backend fa3" },
      { ...SM100, release: "0.5.20", args: "--attention-backend flashinfer" },
      { ...SM100, release: "0.5.21", args: "--attention-backend fa3" },
      { ...QWEN, release: "0.5.9", args: "--attention-backend flashinfer" },
      { ...QWEN, release: "0.5.9", args: "--attention-backend fa4" },
      { ...QWEN, release: "main-20260227", args: "--attention-backend flashinfer" },
      { ...QWEN, release: "0.5.11", args: "--attention-backend fa3" },
      { ...QWEN, release: "0.5.16", args: "--attention-backend fa4" },
      {
        ...QWEN,
        release: "0.5.23",
        args: "--prefill-attention-backend triton --decode-attention-backend fa4",
      },
    ],
    silent: [
      { ...SM100, release: "0.5.15.post1", args: "--attention-backend flashinfer" },
      { ...SM100, release: "0.5.21", args: "--attention-backend flashinfer" },
      { ...SM100, release: "0.5.16", args: "--attention-backend fa4" },
      { ...QWEN, release: "0.5.9", args: "--attention-backend triton" },
      { ...QWEN, release: "main-20260307", args: "--attention-backend fa4" },
      { ...QWEN, release: "main-20260317", args: "--attention-backend flashinfer" },
      { ...QWEN, release: "0.5.10", args: "--attention-backend flashinfer" },
      { ...QWEN, release: "0.5.15.post1", args: "--attention-backend fa4" },
      { ...QWEN, release: "0.5.23", args: "--attention-backend flashinfer" },
      { release: "0.5.9", args: "--attention-backend flashinfer" },
      { ...KIMI, release: "0.5.9", args: "--attention-backend flashinfer" },
    ],
  },
  {
    rule: "R2",
    fires: [
      { ...QWEN, release: "0.5.9", args: "--attention-backend trtllm_mha" },
      { ...QWEN, release: "0.5.10", args: "--attention-backend trtllm_mha" },
      { release: "0.5.18", args: "--attention-backend trtllm_mha" },
      { release: "0.5.19", args: "--attention-backend trtllm_mha" },
      { release: "0.5.9", args: DECODE_ONLY },
      { release: "0.5.10", args: DECODE_ONLY },
      { release: "0.5.18", args: DECODE_ONLY },
      { release: "0.5.19", args: DECODE_ONLY },
      {
        ...QWEN,
        release: "0.5.9",
        args: "--decode-attention-backend trtllm_mha --prefill-attention-backend triton",
      },
      { ...QWEN, release: "0.5.18", args: "--attention-backend trtllm_mha" },
      { ...QWEN, release: "0.5.19", args: "--attention-backend trtllm_mha" },
      { release: "0.5.23", args: "--attention-backend trtllm_mha" },
      {
        release: "0.5.11",
        args: "--decode-attention-backend trtllm_mha --prefill-attention-backend flashinfer",
      },
    ],
    silent: [
      { ...SM100, release: "0.5.9", args: "--attention-backend trtllm_mha" },
      { ...SM100, release: "0.5.23", args: "--attention-backend trtllm_mha" },
      {
        ...QWEN,
        release: "0.5.10",
        args: "--decode-attention-backend trtllm_mha --prefill-attention-backend triton",
      },
      { ...QWEN, release: "0.5.18", args: "--attention-backend triton" },
    ],
  },
  {
    rule: "R3",
    fires: [
      { ...QWEN, release: "0.5.16", args: "--attention-backend trtllm_mha --page-size 8" },
      { ...QWEN, release: "0.5.16", args: "--attention-backend trtllm_mha --page-size 128" },
      { ...QWEN, release: "0.5.17", args: "--attention-backend trtllm_mha --page-size 8" },
      {
        ...QWEN,
        release: "0.5.19",
        args: `--attention-backend trtllm_mha ${NEXTN.replace("topk 1", "topk 2")}`,
      },
    ],
    silent: [
      { ...QWEN, release: "0.5.17", args: "--attention-backend trtllm_mha --page-size 128" },
      { ...QWEN, release: "0.5.16", args: "--attention-backend triton --page-size 128" },
    ],
  },
  {
    rule: "R4",
    fires: [
      { ...QWEN, release: "0.5.9" },
      { ...QWEN, release: "main-20260307" },
    ],
    silent: [
      { ...QWEN, release: "0.5.10" },
      { ...QWEN, release: "0.5.9", args: "--attention-backend triton" },
      { release: "0.5.9" },
    ],
  },
  {
    rule: "R5",
    fires: [{ release: "0.5.11" }, { ...KIMI, release: "0.5.12" }],
    silent: [
      { release: "0.5.11", args: "--attention-backend flashinfer" },
      { release: "0.5.11", gpu: "h200" },
    ],
  },
  {
    rule: "R6",
    fires: [
      { ...KIMI, release: "0.5.11", args: "--attention-backend flashmla --page-size 32" },
      { ...KIMI, release: "0.5.19", args: "--attention-backend cutlass_mla --page-size 64" },
      { ...KIMI, release: "0.5.11", args: "--attention-backend trtllm_mla --page-size 16" },
    ],
    silent: [
      { ...KIMI, release: "0.5.20", args: "--attention-backend cutlass_mla --page-size 64" },
      { ...KIMI, release: "0.5.11", args: "--attention-backend flashmla --page-size 64" },
      { ...QWEN, release: "0.5.11", args: "--attention-backend fa4 --page-size 64" },
    ],
  },
  {
    rule: "R39",
    fires: [
      { ...NVFP4, release: "0.5.19", args: "--attention-backend trtllm_mha" },
      { ...NVFP4, release: "0.5.19", args: "--attention-backend trtllm_mha --kv-cache-dtype fp8_e4m3" },
      { ...NVFP4, release: "0.5.23", args: "--attention-backend trtllm_mha" },
    ],
    silent: [
      { ...NVFP4, release: "0.5.18", args: "--attention-backend trtllm_mha --kv-cache-dtype fp8_e4m3" },
      { ...NVFP4, release: "0.5.19", args: "--attention-backend trtllm_mha --kv-cache-dtype bf16" },
      { ...QWEN, release: "0.5.19", args: "--attention-backend trtllm_mha" },
      { ...NVFP4, release: "0.5.18", args: "--attention-backend trtllm_mha" },
    ],
  },
];
