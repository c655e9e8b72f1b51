/** For every rule: services on which it fires, and the nearest ones on which it must not. */
import type { Case } from "./support";

export interface RuleRow {
  readonly rule: string;
  readonly fires: readonly Case[];
  readonly silent: readonly Case[];
}

const NEXTN = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1";
const EXTRA = "--mamba-scheduler-strategy extra_buffer";
const NEW_EXTRA = "--mamba-radix-cache-strategy extra_buffer";
const LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy";
const PRO = "rtx-pro-6000-blackwell";
const QWEN = { gpu: PRO, model: "qwen3.6-27b" } as const;
const NVFP4 = { gpu: PRO, model: "qwen3.5-397b-a17b-nvfp4", count: 8 } as const;
const KIMI = { gpu: PRO, model: "kimi-k2.5", count: 8 } as const;
/** A Blackwell card of the SM100 family. */
const SM100 = { ...QWEN, capability: [10, 0] } as const;
const DECODE_ONLY = "--decode-attention-backend trtllm_mha --prefill-attention-backend flashinfer";
const FP8 = { gpu: PRO, facts: { quantization: "fp8" } } as const;

export const RULE_ROWS: readonly RuleRow[] = [
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
    rule: "R7",
    fires: [
      { release: "0.5.9", args: NEXTN },
      { release: "0.5.10", args: NEXTN },
      { release: "0.5.13.post1", args: `${NEXTN} --mamba-scheduler-strategy no_buffer` },
    ],
    silent: [
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.11", args: `${NEXTN} --disable-radix-cache` },
      { release: "0.5.14", args: NEXTN },
      { ...KIMI, release: "0.5.12", args: "--speculative-algorithm EAGLE3" },
    ],
  },
  {
    rule: "R8",
    fires: [{ release: "0.5.11", args: `${EXTRA} --disable-radix-cache` }],
    silent: [
      { release: "0.5.14", args: `${NEW_EXTRA} --disable-radix-cache` },
      { release: "0.5.11", args: EXTRA },
    ],
  },
  {
    rule: "R8b",
    fires: [
      { release: "0.5.13.post1", args: "--page-size 64" },
      { release: "0.5.11", args: "--page-size 64" },
    ],
    silent: [
      { release: "0.5.10", args: "--page-size 64" },
      { release: "0.5.11", args: `--page-size 64 ${EXTRA}` },
      { release: "0.5.14", args: "--page-size 64" },
    ],
  },
  {
    rule: "R8c",
    fires: [{ release: "0.5.13.post1" }, { release: "0.5.11" }],
    silent: [
      { release: "0.5.14" },
      { release: "0.5.11", args: EXTRA },
      { release: "0.5.11", args: "--disable-radix-cache" },
    ],
  },
  {
    rule: "R9",
    fires: [
      {
        release: "0.5.11",
        args: `${NEXTN} --speculative-num-draft-tokens 4 ${EXTRA} --mamba-track-interval 2`,
      },
      { release: "0.5.23", args: `${NEW_EXTRA} --page-size 24` },
    ],
    silent: [
      { release: "0.5.11", args: `${EXTRA} --page-size 64` },
      { release: "0.5.11", args: "--page-size 24" },
    ],
  },
  {
    rule: "R10",
    fires: [
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --page-size 16" },
      {
        ...QWEN,
        release: "0.5.19",
        args: "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule --attention-backend trtllm_mha",
      },
    ],
    silent: [
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule" },
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --disable-radix-cache" },
      { release: "0.5.13", args: "--mamba-scheduler-strategy no_buffer" },
      { release: "0.5.14" },
    ],
  },
  {
    rule: "R11",
    fires: [
      { release: "0.5.10", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.14", env: { SGLANG_ENABLE_SPEC_V2: "1" } },
    ],
    silent: [
      { release: "0.5.9", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.13.post1", env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      { release: "0.5.10", args: `${NEXTN} ${EXTRA}`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
    ],
  },
  {
    rule: "R12",
    fires: [
      { release: "0.5.11", args: `${NEXTN} --speculative-eagle-topk 2`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      {
        release: "0.5.10",
        args: `${NEXTN} --speculative-eagle-topk 2`,
        env: { SGLANG_ENABLE_SPEC_V2: "true" },
      },
      { release: "0.5.12.post1", args: `${NEXTN} --speculative-eagle-topk 2` },
    ],
    silent: [
      { release: "0.5.10", args: `${NEXTN} --speculative-eagle-topk 2` },
      { release: "0.5.13", args: `${NEXTN} --speculative-eagle-topk 2` },
    ],
  },
  {
    rule: "R13",
    fires: [{ release: "0.5.11", args: `${NEXTN} --speculative-num-draft-tokens 8` }],
    silent: [{ release: "0.5.11", args: `${NEXTN} --speculative-num-draft-tokens 4` }],
  },
  {
    rule: "R14",
    fires: [{ release: "0.5.11", args: "--speculative-algorithm NEXTN --speculative-eagle-topk 1" }],
    silent: [
      { release: "0.5.11", args: "--speculative-algorithm NEXTN" },
      { release: "0.5.11", args: NEXTN },
    ],
  },
  {
    rule: "R15",
    fires: [
      {
        release: "0.5.12",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend triton`,
      },
    ],
    silent: [
      {
        release: "0.5.13",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend triton`,
      },
      {
        release: "0.5.12",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend flashinfer`,
      },
    ],
  },
  {
    rule: "R16",
    fires: [
      { release: "0.5.11", args: NEXTN },
      {
        release: "0.5.20",
        args: `${NEXTN} --max-running-requests 4 --pp-size 2`,
        env: { SGLANG_ENABLE_PP_SPEC: "1" },
      },
      { release: "0.5.11", args: `${NEXTN} --max-running-requests 4 --attention-backend flex_attention` },
      {
        ...KIMI,
        release: "0.5.12",
        args: "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 2 --max-running-requests 4 --attention-backend flashinfer",
      },
    ],
    silent: [
      { release: "0.5.11", args: `${NEXTN} --max-running-requests 4` },
      {
        release: "0.5.21",
        args: `${NEXTN} --max-running-requests 4 --pp-size 2`,
        env: { SGLANG_ENABLE_PP_SPEC: "1" },
      },
    ],
  },
  {
    rule: "R17",
    fires: [
      { ...KIMI, release: "0.5.9", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.11", draft: "kimi-k2.5-eagle3-mla", args: "--speculative-algorithm EAGLE3" },
    ],
    silent: [
      { ...KIMI, release: "0.5.10", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.11", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.12", draft: "kimi-k2.5-eagle3-mla", args: "--speculative-algorithm EAGLE3" },
    ],
  },
  {
    rule: "R18",
    fires: [{ release: "0.5.11", args: "--speculative-moe-runner-backend flashinfer_trtllm" }],
    silent: [{ release: "0.5.12", args: "--speculative-moe-runner-backend flashinfer_trtllm" }],
  },
  {
    rule: "R19",
    fires: [
      { release: "0.5.14", args: "--enable-flashinfer-allreduce-fusion" },
      { release: "0.5.13", args: "--enable-flashinfer-allreduce-fusion" },
      { release: "0.5.23", args: "--flashinfer-allreduce-fusion-backend trtllm" },
    ],
    silent: [
      { release: "0.5.23", gpu: "h200", args: "--flashinfer-allreduce-fusion-backend trtllm" },
      {
        release: "0.5.13",
        args: "--enable-flashinfer-allreduce-fusion",
        patches: ["sm120-all-reduce-fusion"],
      },
    ],
  },
  {
    rule: "R20",
    fires: [{ ...KIMI, release: "0.5.12" }],
    silent: [
      { ...KIMI, release: "0.5.12", args: "--disable-custom-all-reduce" },
      { release: "0.5.11" },
      { release: "0.5.11", gpu: "h200", count: 8 },
    ],
  },
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
    rule: "R30",
    fires: [
      { release: "0.5.9" },
      { release: "main-20260317" },
      { release: "0.5.10" },
      { ...NVFP4, release: "0.5.9" },
    ],
    silent: [{ release: "0.5.11" }, { ...NVFP4, release: "0.5.10" }, { ...KIMI, release: "0.5.9" }],
  },
  {
    rule: "R31",
    fires: [{ release: "0.5.10", args: "--linear-attn-decode-backend flashinfer" }],
    silent: [
      { release: "0.5.11", args: "--linear-attn-decode-backend flashinfer" },
      { release: "0.5.10", args: `--linear-attn-decode-backend flashinfer ${EXTRA}` },
    ],
  },
  {
    rule: "R32",
    fires: [
      { release: "0.5.24", packages: { "sglang-kernel": "0.4.9" } },
      { release: "0.5.11", packages: { "sglang-kernel": "0.4.1" } },
      { release: "0.5.23", packages: { "flashinfer-python": "0.7.1" } },
    ],
    silent: [
      { release: "0.5.23", packages: { "sglang-kernel": "0.4.9" } },
      { release: "0.5.11", packages: { "sglang-kernel": "0.4.2+cu130" } },
      {
        release: "0.5.11",
        packages: { "sglang-kernel": "0.4.1" },
        env: { SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK: "1" },
      },
    ],
  },
  {
    rule: "R33",
    fires: [{ release: "0.5.9", packages: { torch: "2.9.1+cu129", "nvidia-cudnn-cu12": "9.10.2.21" } }],
    silent: [
      { release: "0.5.9", packages: { torch: "2.9.1", "nvidia-cudnn-cu12": "9.16.0.29" } },
      { release: "0.5.10", packages: { torch: "2.9.1", "nvidia-cudnn-cu12": "9.10.2.21" } },
    ],
  },
  {
    rule: "R34",
    fires: [
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1", "flashinfer-jit-cache": "0.6.7+cu130" },
      },
      { release: "0.5.16", packages: { "flashinfer-python": "0.6.14", "flashinfer-cubin": "0.6.12" } },
      { release: "0.5.23", packages: { "flashinfer-python": "0.7.2", "flashinfer-cubin": "0.6.12" } },
    ],
    silent: [
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1", "flashinfer-cubin": "0.6.8.post1" },
      },
      {
        release: "0.5.16",
        packages: { "flashinfer-python": "0.6.14", "flashinfer-cubin": "0.6.12" },
        env: { FLASHINFER_DISABLE_VERSION_CHECK: "1" },
      },
    ],
  },
  {
    rule: "R35",
    fires: [
      { release: "0.5.11", count: 5 },
      { release: "0.5.11", count: 3 },
    ],
    silent: [
      { release: "0.5.11", count: 8 },
      { ...NVFP4, release: "0.5.12" },
      { ...KIMI, release: "0.5.12", count: 7 },
    ],
  },
  {
    rule: "R36",
    fires: [{ release: "0.5.11", packages: { torch: "2.12.0.dev20260307+cu130", "sglang-kernel": "0.4.2" } }],
    silent: [
      { release: "0.5.11", packages: { torch: "2.11.0+cu130", "sglang-kernel": "0.4.2" } },
      { release: "0.5.11", packages: { torch: "2.12.0.dev20260307+cu130", "sglang-kernel": "0.4.2+local" } },
    ],
  },
  {
    rule: "R37",
    fires: [{ release: "0.5.18" }, { release: "0.5.21" }],
    silent: [{ release: "0.5.17" }, { release: "0.5.22" }, { ...QWEN, release: "0.5.18" }],
  },
  {
    rule: "R38",
    fires: [
      { release: "0.5.16", args: `--speculative-algorithm DFLASH ${LAZY}` },
      { release: "0.5.13", args: `${NEXTN} --mamba-scheduler-strategy extra_buffer_lazy` },
      { release: "0.5.16", args: `${NEXTN} ${LAZY}` },
      { release: "0.5.17", args: `--speculative-algorithm DFLASH ${LAZY}` },
    ],
    silent: [
      { release: "0.5.12", args: `${NEXTN} --mamba-scheduler-strategy extra_buffer_lazy` },
      { release: "0.5.18", args: `--speculative-algorithm DFLASH ${LAZY}` },
      { release: "0.5.17", args: `${NEXTN} ${LAZY}` },
      { release: "0.5.16", args: LAZY },
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
    rule: "R42",
    fires: [
      { release: "0.5.22", python: "3.10" },
      { release: "0.5.11", python: "3.14" },
    ],
    silent: [
      { release: "0.5.21", python: "3.10" },
      { release: "0.5.22", python: "3.11" },
      { release: "0.5.10", python: "3.14" },
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
    rule: "R46",
    fires: [{ release: "0.5.12", args: "--speculative-algorithm NEXTM" }],
    silent: [
      { release: "0.5.12", args: "--speculative-algorithm NEXTN" },
      { release: "0.5.16", args: "--speculative-algorithm DSPARK" },
    ],
  },
  {
    rule: "R47",
    fires: [
      { ...NVFP4, release: "0.5.12", args: "--quantization modelopt_fp4 --speculative-draft-model-path /d" },
    ],
    silent: [
      {
        ...NVFP4,
        release: "0.5.12",
        args: "--quantization modelopt_fp4 --speculative-draft-model-path /d --speculative-draft-model-quantization unquant",
      },
      { ...NVFP4, release: "0.5.12", args: "--quantization modelopt_fp4" },
    ],
  },
  {
    rule: "R48",
    fires: [
      { ...KIMI, release: "0.5.20", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
      { ...KIMI, release: "0.5.21", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
      { ...KIMI, release: "0.5.22", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
    ],
    silent: [{ ...KIMI, release: "0.5.22", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "0" } }],
  },
  {
    rule: "R49",
    fires: [{ release: "0.5.14", args: `${NEW_EXTRA} --linear-attn-backend flashinfer` }],
    silent: [
      { release: "0.5.14", args: `${NEW_EXTRA} --linear-attn-decode-backend flashinfer` },
      { release: "0.5.13", args: `${EXTRA} --linear-attn-backend flashinfer` },
      { release: "0.5.14", args: "--linear-attn-backend flashinfer" },
    ],
  },
  {
    rule: "M1",
    fires: [{ release: "0.5.9" }, { release: "main-20260317" }],
    silent: [{ release: "0.5.10" }, { ...KIMI, release: "0.5.9" }],
  },
  {
    rule: "M2",
    fires: [{ ...KIMI, release: "0.5.12", args: "--speculative-algorithm NEXTN" }],
    silent: [
      { release: "0.5.11", args: "--speculative-algorithm NEXTN" },
      { ...KIMI, release: "0.5.12", args: "--speculative-algorithm EAGLE --speculative-draft-model-path /d" },
      { ...KIMI, release: "0.5.12", args: "--speculative-algorithm EAGLE3" },
    ],
  },
  {
    rule: "M4",
    fires: [{ release: "0.5.11", args: "--context-length 262145" }],
    silent: [
      { release: "0.5.11", args: "--context-length 262144" },
      {
        release: "0.5.11",
        args: "--context-length 1010000",
        env: { SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN: "1" },
      },
    ],
  },
  {
    rule: "M5",
    fires: [
      { release: "0.5.11", args: "--tp-size 2 --pp-size 2" },
      { release: "0.5.11", count: 1, args: "--tp-size 2" },
    ],
    silent: [{ release: "0.5.11", count: 4, args: "--tp-size 2 --pp-size 2" }],
  },
  {
    rule: "N4",
    fires: [{ release: "0.5.11", env: { CUDA_DEVICE_MAX_CONNECTIONS: "1" } }],
    silent: [{ release: "0.5.11", env: { CUDA_DEVICE_MAX_CONNECTIONS: "8" } }],
  },
  {
    rule: "M3",
    fires: [{ ...KIMI, release: "0.5.12", args: "--kv-cache-dtype fp8_e5m2" }],
    silent: [{ ...KIMI, release: "0.5.12", args: "--kv-cache-dtype bf16" }],
  },
  {
    rule: "N1",
    fires: [{ release: "0.5.11", env: { NCCL_P2P_DISABLE: "1", NCCL_P2P_LEVEL: "SYS" } }],
    silent: [
      { release: "0.5.11", env: { NCCL_P2P_DISABLE: "1" } },
      { release: "0.5.11", env: { NCCL_P2P_DISABLE: "0", NCCL_P2P_LEVEL: "SYS" } },
    ],
  },
  {
    rule: "N2",
    fires: [
      { release: "0.5.11", env: { NCCL_P2P_LEVEL: "4" } },
      { release: "0.5.11", env: { NCCL_P2P_LEVEL: "sys" } },
    ],
    silent: [{ release: "0.5.11", env: { NCCL_P2P_LEVEL: "PHB" } }],
  },
  {
    rule: "N3",
    fires: [{ release: "0.5.11", env: { CUDA_HOME: "/usr/local/cuda-13.0" } }],
    silent: [
      {
        release: "0.5.11",
        env: { CUDA_HOME: "/usr/local/cuda-13.0/", PATH: "/bin:/usr/local/cuda-13.0/bin" },
      },
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
