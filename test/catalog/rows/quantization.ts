import type { RuleRow } from "./rule-row";
import { QWEN, NVFP4, KIMI, FP8 } from "./shared";

export const QUANTIZATION_ROWS: readonly RuleRow[] = [
  {
    rule: "R21",
    fires: [
      { ...NVFP4, release: "0.5.15.post1" },
      { ...NVFP4, release: "0.5.12", args: "--moe-runner-backend flashinfer_cutedsl" },
      { ...NVFP4, release: "0.5.12" },
      { ...NVFP4, release: "0.5.13" },
    ],
    silent: [
      { ...NVFP4, release: "0.5.16" },
      { ...NVFP4, release: "0.5.12", args: "--moe-runner-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.13", args: "--quantization modelopt_fp4" },
      { ...KIMI, release: "0.5.12" },
    ],
  },
  {
    rule: "R22",
    fires: [
      {
        ...NVFP4,
        release: "0.5.9",
        args: "--moe-runner-backend flashinfer_cutlass --quantization modelopt_mixed",
      },
      { ...NVFP4, release: "0.5.9", args: "--moe-runner-backend flashinfer_cutlass --quantization fp8" },
      { ...NVFP4, release: "0.5.11", args: "--moe-runner-backend flashinfer_cutlass --ep-size 2" },
    ],
    silent: [
      {
        ...NVFP4,
        release: "0.5.10",
        args: "--moe-runner-backend flashinfer_cutlass --quantization modelopt_mixed",
      },
      { ...NVFP4, release: "0.5.11", args: "--moe-runner-backend flashinfer_cutlass --ep-size 8" },
    ],
  },
  {
    rule: "R23",
    fires: [{ ...NVFP4, release: "0.5.16", args: "--moe-runner-backend cutlass" }],
    silent: [{ ...NVFP4, release: "0.5.15", args: "--moe-runner-backend cutlass" }],
  },
  {
    rule: "R24",
    fires: [
      {
        ...NVFP4,
        gpu: "rtx-a6000",
        release: "0.5.12.post1",
        args: "--moe-runner-backend flashinfer_cutlass",
      },
      { ...NVFP4, gpu: "rtx-a6000", release: "0.5.12.post1" },
      { ...NVFP4, gpu: "rtx-a6000", release: "0.5.13" },
      { ...NVFP4, gpu: "rtx-a6000", release: "0.5.13", args: "--moe-runner-backend flashinfer_cutlass" },
      { release: "0.5.13", facts: { quantization: "modelopt_fp8" } },
    ],
    silent: [
      { ...NVFP4, release: "0.5.12" },
      { release: "0.5.13", gpu: "h200", facts: { quantization: "modelopt_fp8" } },
    ],
  },
  {
    rule: "R25",
    fires: [
      { ...NVFP4, release: "0.5.9", args: "--fp4-gemm-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.10", args: "--fp4-gemm-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.13", args: "--fp4-gemm-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.9", args: "--fp4-gemm-backend auto" },
      { ...NVFP4, release: "main-20260307" },
      { ...NVFP4, release: "0.5.12", args: "--fp4-gemm-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.13" },
    ],
    silent: [
      { ...NVFP4, release: "0.5.9", args: "--fp4-gemm-backend flashinfer_cudnn" },
      { ...NVFP4, release: "0.5.10" },
      { ...NVFP4, release: "0.5.12" },
      { ...NVFP4, release: "0.5.13", args: "--fp4-gemm-backend flashinfer_cudnn" },
      { ...QWEN, release: "0.5.9" },
    ],
  },
  {
    rule: "R26",
    fires: [{ ...NVFP4, release: "0.5.23", args: "--fp4-gemm-backend flashinfer_trtllm" }],
    silent: [{ release: "0.5.23", args: "--fp4-gemm-backend flashinfer_trtllm" }],
  },
  {
    rule: "R27",
    fires: [
      { ...FP8, release: "0.5.12" },
      { ...FP8, release: "0.5.20" },
    ],
    silent: [
      { ...FP8, release: "0.5.19" },
      { ...FP8, release: "0.5.12", env: { SGLANG_ENABLE_JIT_DEEPGEMM: "0" } },
      { ...FP8, release: "0.5.13" },
      { ...FP8, gpu: "h200", release: "0.5.12" },
      { ...NVFP4, release: "0.5.12" },
    ],
  },
  {
    rule: "R28",
    fires: [
      { ...NVFP4, release: "0.5.12" },
      { ...NVFP4, release: "0.5.23", args: "--kv-cache-dtype auto" },
    ],
    silent: [{ ...NVFP4, release: "0.5.12", args: "--kv-cache-dtype bf16" }, { release: "0.5.11" }],
  },
  {
    rule: "R29",
    fires: [{ release: "0.5.11", args: "--kv-cache-dtype fp8_e4m3" }],
    silent: [
      { ...NVFP4, release: "0.5.12", args: "--kv-cache-dtype fp8_e4m3" },
      { release: "0.5.11", args: "--kv-cache-dtype bf16" },
    ],
  },
  {
    rule: "R43",
    fires: [
      { ...NVFP4, release: "0.5.20" },
      { ...NVFP4, release: "0.5.21" },
      { ...NVFP4, release: "0.5.16" },
      { ...NVFP4, release: "0.5.23", args: "--quantization modelopt_mixed" },
    ],
    silent: [
      { ...NVFP4, release: "0.5.16", args: "--quantization modelopt_fp4" },
      { ...NVFP4, release: "0.5.23", args: "--moe-runner-backend flashinfer_cutlass" },
      { ...NVFP4, release: "0.5.15" },
    ],
  },
  {
    rule: "R45",
    fires: [
      { ...QWEN, release: "0.5.14", args: "--quantization nvfp4_online" },
      { ...KIMI, release: "0.5.23", args: "--moe-runner-backend flashinfer_trtllm" },
    ],
    silent: [
      { ...QWEN, release: "0.5.13", args: "--quantization nvfp4_online" },
      { ...KIMI, release: "0.5.23", args: "--moe-runner-backend marlin" },
    ],
  },
  {
    rule: "M3",
    fires: [{ ...KIMI, release: "0.5.12", args: "--kv-cache-dtype fp8_e5m2" }],
    silent: [{ ...KIMI, release: "0.5.12", args: "--kv-cache-dtype bf16" }],
  },
];
