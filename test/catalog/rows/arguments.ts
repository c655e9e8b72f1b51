import type { RuleRow } from "./rule-row";
import { EXTRA } from "./shared";

export const ARGUMENTS_ROWS: readonly RuleRow[] = [
  {
    rule: "R40",
    fires: [
      { release: "0.5.20", args: EXTRA },
      { release: "0.5.20", args: "--disable-piecewise-cuda-graph" },
      { release: "0.5.23", args: "--cuda-graph-max-bs 8" },
    ],
    silent: [
      { release: "0.5.19", args: EXTRA },
      { release: "0.5.20", args: "--cuda-graph-max-bs-decode 8" },
    ],
  },
  {
    rule: "R41",
    fires: [
      { release: "0.5.16", args: "--fp4-gemm-backend cutlass" },
      { release: "0.5.16", args: "--quantization qoq" },
      { release: "0.5.20", args: "--attention-backend dual_chunk_flash_attn" },
      { release: "0.5.20", args: "--quantization marlin" },
      { release: "0.5.21", args: "--kv-cache-dtype fp4_e2m1" },
    ],
    silent: [
      { release: "0.5.15", args: "--fp4-gemm-backend cutlass" },
      { release: "0.5.20", args: "--kv-cache-dtype fp4_e2m1" },
      { release: "0.5.16", args: "--fp4-gemm-backend flashinfer_cudnn" },
    ],
  },
  {
    rule: "R44",
    fires: [
      { release: "0.5.9", env: { SGLANG_FLASHINFER_FP4_GEMM_BACKEND: "cudnn" } },
      { release: "0.5.10", env: { SGLANG_DISABLE_CUDNN_CHECK: "1" } },
      { release: "0.5.18", env: { SGLANG_CUTLASS_MOE: "1" } },
    ],
    silent: [
      {
        release: "0.5.9",
        args: "--fp4-gemm-backend auto",
        env: { SGLANG_FLASHINFER_FP4_GEMM_BACKEND: "cudnn" },
      },
      { release: "0.5.9", env: { SGLANG_DISABLE_CUDNN_CHECK: "1" } },
      { release: "0.5.17", env: { SGLANG_CUTLASS_MOE: "1" } },
    ],
  },
  {
    rule: "unknown-argument",
    fires: [
      { release: "0.5.11", args: "--atention-backend triton" },
      { release: "0.5.11", args: "--speculative 3" },
      { release: "0.5.11", args: "triton" },
    ],
    silent: [{ release: "0.5.11", args: "--attention-backend triton --tp 2" }],
  },
  {
    rule: "invalid-value",
    fires: [
      { release: "0.5.11", args: "--attention-backend tritton" },
      { release: "0.5.11", args: "--page-size sixteen" },
      { release: "0.5.11", args: "--mem-fraction-static 0,8" },
      { release: "0.5.11", args: "--tool-call-parser qwen3" },
      { release: "0.5.11", args: "--speculative-algorithm" },
    ],
    silent: [
      { release: "0.5.11", args: "--page-size 16 --mem-fraction-static 0.8 --tool-call-parser qwen3_coder" },
    ],
  },
  {
    rule: "deprecated-argument",
    fires: [
      { release: "0.5.14", args: EXTRA },
      { release: "0.5.23", args: "--enable-flashinfer-allreduce-fusion" },
    ],
    silent: [{ release: "0.5.13", args: EXTRA }],
  },
  {
    rule: "abbreviated-argument",
    fires: [
      { release: "0.5.23", args: "--tp 2" },
      { release: "0.5.11", args: "--speculative-algo NEXTN" },
    ],
    silent: [
      { release: "0.5.23", args: "--tensor-parallel-size 2" },
      { release: "0.5.11", args: "--model=/m" },
    ],
  },
  {
    rule: "unknown-variable",
    fires: [{ release: "0.5.11", env: { SGLANG_ENABLE_SPEC_V3: "1" } }],
    silent: [{ release: "0.5.11", env: { SGL_FORCE_SHUTDOWN: "1", NCCL_DEBUG: "INFO" } }],
  },
];
