/** Quantized weights and their kernels. */
import { isKimi, isNvfp4, isNvfp4Moe, isSm100, isSm120, major, smOf } from "../conditions";
import type { Facts, Rule, RuleCase } from "../rule";
import { inRange } from "../versions";

const moeRunner = (facts: Facts) => facts.settings.moeRunner ?? "auto";
const fp4Gemm = (facts: Facts) => facts.settings.fp4Gemm ?? "auto";
const USE_CUTLASS_MOE = "use --moe-runner-backend flashinfer_cutlass";
const USE_CUDNN =
  "use --fp4-gemm-backend flashinfer_cudnn, and compare with a NaN probe (long prompt, many tokens)";

/** A checkpoint of mixed precision keeps its quantization; the runner must be stated. */
const stateRunner = ({ settings }: Facts) =>
  settings.quantization === "modelopt_mixed"
    ? USE_CUTLASS_MOE
    : `${USE_CUTLASS_MOE} and --quantization modelopt_fp4`;

/** Runners whose kernels are for SM100 only. */
const SM100_RUNNERS = ["flashinfer_trtllm", "flashinfer_trtllm_routed", "flashinfer_cutedsl"];

const autoFp4 = (facts: Facts) => isSm120(facts) && isNvfp4(facts) && fp4Gemm(facts) === "auto";
const cutlassFp4 = (facts: Facts) =>
  isSm120(facts) && isNvfp4(facts) && fp4Gemm(facts) === "flashinfer_cutlass";

const notCudnn: RuleCase<Facts>["when"] = (facts) =>
  isSm120(facts) && isNvfp4(facts) && !["flashinfer_cudnn", "flashinfer_trtllm"].includes(fp4Gemm(facts));

const beforeBlackwell = (facts: Facts) => (major(facts) ?? 99) < 10;

const marlinRunner = (facts: Facts) =>
  facts.model?.mixtureOfExperts !== true || ["auto", "marlin"].includes(moeRunner(facts));

/** NVFP4 experts on SM120 whose runner nobody states: R21's replacement looks at a stated modelopt_fp4 alone. */
function runnerIsLeftToCheckpoint(facts: Facts): boolean {
  return (
    isSm120(facts) &&
    isNvfp4Moe(facts) &&
    moeRunner(facts) === "auto" &&
    facts.settings.quantization !== "modelopt_fp4"
  );
}

export const QUANTIZATION_RULES: readonly Rule[] = [
  {
    id: "R21",
    subject: "runner of an NVFP4 mixture of experts on SM120",
    cases: [
      {
        when: (facts) => isSm120(facts) && isNvfp4Moe(facts) && SM100_RUNNERS.includes(moeRunner(facts)),
        severity: "error",
        setting: "moeRunnerBackend",
        message: (facts) => `${moeRunner(facts)} is made for SM100: NaN or a crash on SM120`,
        fix: USE_CUTLASS_MOE,
      },
      {
        builds: { before: "0.5.13" },
        when: (facts) => isSm120(facts) && isNvfp4Moe(facts) && moeRunner(facts) === "auto",
        severity: "warning",
        setting: "moeRunnerBackend",
        message:
          "without --moe-runner-backend this build ends in cutlass_moe_fp4, not in the runner that gave correct text",
        fix: USE_CUTLASS_MOE,
      },
      {
        builds: { from: "0.5.13", before: "0.5.16" },
        when: (facts) => runnerIsLeftToCheckpoint(facts),
        severity: "warning",
        setting: "moeRunnerBackend",
        message:
          "without --moe-runner-backend and without --quantization modelopt_fp4 this build ends in cutlass_moe_fp4 (R43)",
        fix: USE_CUTLASS_MOE,
      },
    ],
    evidence:
      "layers/quantization/modelopt_quant.py:1979-2160 (v0.5.11); e76d36214b #26496; arg_groups/overrides.py:1520 (0.5.23)",
  },
  {
    id: "R22",
    subject: "MoE runner flashinfer_cutlass with a quantization or expert parallelism that it does not take",
    cases: [
      {
        when: (facts) => {
          const { quantization } = facts.settings;
          const taken = ["modelopt_fp4", "modelopt_fp8"];
          if (inRange(facts.build, { from: "0.5.10" })) taken.push("modelopt_mixed");
          return (
            moeRunner(facts) === "flashinfer_cutlass" &&
            quantization !== undefined &&
            !taken.includes(quantization)
          );
        },
        severity: "error",
        setting: "moeRunnerBackend",
        message: ({ settings }) =>
          `AssertionError: flashinfer_cutlass takes modelopt_fp4, modelopt_fp8 and modelopt_mixed (0.5.10+), not ${settings.quantization ?? ""}`,
        fix: "leave moeRunnerBackend out, or state the checkpoint's own quantization",
      },
      {
        when: (facts) =>
          moeRunner(facts) === "flashinfer_cutlass" &&
          ![1, facts.settings.tensorParallel].includes(facts.settings.expertParallel),
        severity: "error",
        setting: "extraArgs",
        message: ({ settings }) =>
          `AssertionError: with flashinfer_cutlass --ep-size must be 1 or ${settings.tensorParallel}, not ${settings.expertParallel}`,
        fix: "take --ep-size out",
      },
    ],
    evidence: "server_args.py, _handle_moe_kernel_config (v0.5.13); arg_groups/moe_hook.py:70 (0.5.23)",
  },
  {
    id: "R23",
    subject: "MoE runner cutlass with NVFP4 from 0.5.16",
    cases: [
      {
        builds: { from: "0.5.16" },
        when: (facts) => isNvfp4Moe(facts) && moeRunner(facts) === "cutlass",
        severity: "error",
        setting: "moeRunnerBackend",
        message: "NotImplementedError: moe_runner_backend=cutlass is not supported for NVFP4 MoE.",
        fix: USE_CUTLASS_MOE,
      },
    ],
    evidence: "layers/quantization/modelopt_quant.py:2453 (v0.5.16)",
  },
  {
    id: "R24",
    subject: "NVFP4 or ModelOpt FP8 on a GPU that cannot run it",
    cases: [
      {
        builds: { before: "0.5.13" },
        when: (facts) => isNvfp4(facts) && beforeBlackwell(facts),
        severity: "error",
        setting: "model",
        message: (facts) =>
          `ValueError: the checkpoint is NVFP4, which needs Blackwell in this build (minimum capability 100, the card is ${smOf(facts)})`,
        fix: "choose an unquantized or INT4 checkpoint for this card",
      },
      {
        builds: { from: "0.5.13" },
        when: (facts) =>
          isNvfp4(facts) && beforeBlackwell(facts) && ((major(facts) ?? 0) < 8 || !marlinRunner(facts)),
        severity: "error",
        setting: "moeRunnerBackend",
        message: (facts) =>
          `ValueError: ${smOf(facts)} does not support NVFP4 quantization with the selected MoE backend. Please use Blackwell and above, or use moe_runner_backend=marlin on SM80+.`,
        fix: "leave moeRunnerBackend out, or set it to marlin",
      },
      {
        builds: { from: "0.5.13" },
        when: (facts) =>
          isNvfp4(facts) && beforeBlackwell(facts) && (major(facts) ?? 0) >= 8 && marlinRunner(facts),
        severity: "warning",
        setting: "model",
        message: (facts) =>
          `on ${smOf(facts)} NVFP4 weights run by marlin (weight-only), without FP4 arithmetic`,
        fix: "choose a checkpoint made for this card",
      },
      {
        when: (facts) => {
          const quantization = facts.settings.quantization ?? facts.model?.quantization;
          const [high, low] = facts.gpu?.computeCapability ?? [99, 0];
          return quantization === "modelopt_fp8" && high * 10 + low < 89;
        },
        severity: "error",
        setting: "model",
        message: (facts) => `modelopt_fp8 needs compute capability 8.9, the card is ${smOf(facts)}`,
        fix: "choose an unquantized or INT4 checkpoint for this card",
      },
    ],
    evidence: "model_loader/loader.py; layers/quantization/modelopt_quant.py:1549, 2384 (0.5.23)",
  },
  {
    id: "R25",
    subject: "kernels of NVFP4 matrix products on SM120",
    cases: [
      {
        // The release itself; main went on to change its default.
        builds: { before: "2026-02-24" },
        when: notCudnn,
        severity: "error",
        setting: "fp4GemmBackend",
        message: "0.5.9 takes flashinfer_cutlass, which can give NaN on SM120",
        fix: USE_CUDNN,
      },
      {
        builds: { from: "2026-02-24", before: "0.5.10" },
        when: notCudnn,
        severity: "warning",
        setting: "fp4GemmBackend",
        message:
          "without --fp4-gemm-backend flashinfer_cudnn this build may take flashinfer_cutlass, which can give NaN on SM120",
        fix: USE_CUDNN,
      },
      {
        builds: { from: "0.5.10", before: "0.5.13" },
        when: cutlassFp4,
        severity: "warning",
        setting: "fp4GemmBackend",
        message: "flashinfer_cutlass can give NaN on SM120",
        fix: USE_CUDNN,
      },
      {
        builds: { from: "0.5.13" },
        when: (facts) => autoFp4(facts) || cutlassFp4(facts),
        severity: "warning",
        setting: "fp4GemmBackend",
        message: "auto is flashinfer_cutlass again from 0.5.13, which has given NaN on SM120",
        fix: USE_CUDNN,
      },
    ],
    evidence:
      "#20043, #20047; flashinfer#2577, #2708, #2716; against cudnn: flashinfer#2910, #3140, #3398; layers/quantization/fp4_utils.py",
  },
  {
    id: "R26",
    subject: "FP4 matrix products by flashinfer_trtllm on SM120",
    cases: [
      {
        when: (facts) => isSm120(facts) && fp4Gemm(facts) === "flashinfer_trtllm",
        severity: "error",
        setting: "fp4GemmBackend",
        message: "flashinfer_trtllm has no FP4 kernels for compute capability 12",
        fix: USE_CUDNN,
      },
    ],
    evidence: "read in 0.5.9 to 0.5.23",
  },
  {
    id: "R27",
    subject: "FP8 block weights with JIT DeepGEMM on SM120",
    cases: [
      {
        builds: { before: "0.5.13" },
        when: (facts) =>
          isSm120(facts) &&
          facts.model?.quantization === "fp8" &&
          facts.env["SGLANG_ENABLE_JIT_DEEPGEMM"] !== "0",
        severity: "warning",
        setting: "env",
        message: "JIT DeepGEMM uses UE8M0 scales here, which risks NaN on SM120",
        fix: "set SGLANG_ENABLE_JIT_DEEPGEMM=0",
      },
      {
        builds: { from: "0.5.20" },
        when: (facts) =>
          isSm120(facts) &&
          facts.model?.quantization === "fp8" &&
          facts.env["SGLANG_ENABLE_JIT_DEEPGEMM"] !== "0",
        severity: "warning",
        setting: "env",
        message: "JIT DeepGEMM with UE8M0 scales is on again for SM120 from 0.5.20 (sgl-deep-gemm 0.2.0)",
        fix: "set SGLANG_ENABLE_JIT_DEEPGEMM=0, or probe it",
      },
    ],
    evidence: "layers/deep_gemm_wrapper/configurer.py; off in code from 0.5.13 to 0.5.19",
  },
  {
    id: "R43",
    subject: "NVFP4 mixture of experts on SM120 with runner auto and no stated modelopt_fp4",
    cases: [
      {
        builds: { from: "0.5.16", before: "0.5.21" },
        when: (facts) => runnerIsLeftToCheckpoint(facts),
        severity: "error",
        setting: "moeRunnerBackend",
        message:
          "the first request ends with NotImplementedError: Unsupported moe_runner_backend for NVFP4 MoE: FLASHINFER_TRTLLM",
        fix: stateRunner,
      },
      {
        builds: { from: "0.5.21" },
        when: (facts) => runnerIsLeftToCheckpoint(facts),
        severity: "error",
        setting: "moeRunnerBackend",
        message: "the server enters the trtllm branch without its prepared weights",
        fix: stateRunner,
      },
    ],
    evidence:
      "layers/quantization/modelopt_quant.py:2622 (0.5.16); arg_groups/model_overrides/qwen3_moe.py:41 (0.5.23)",
  },
  {
    id: "R45",
    subject: "choices that work on SM100 only",
    cases: [
      {
        builds: { from: "0.5.14" },
        when: (facts) =>
          facts.settings.quantization === "nvfp4_online" && facts.gpu !== undefined && !isSm100(facts),
        severity: "error",
        setting: "quantization",
        message:
          "ValueError: --quantization nvfp4_online is supported only on NVIDIA Blackwell SM100/SM103 GPUs.",
        fix: "leave quantization out",
      },
      {
        when: (facts) =>
          isKimi(facts) &&
          moeRunner(facts) === "flashinfer_trtllm" &&
          facts.gpu !== undefined &&
          !isSm100(facts),
        severity: "error",
        setting: "moeRunnerBackend",
        message: (facts) =>
          `flashinfer_trtllm loads the trtllm-gen MxInt4 experts, an SM100 kernel; the card is ${smOf(facts)}`,
        fix: "leave moeRunnerBackend out: auto is Marlin here",
      },
    ],
    evidence:
      "server_args.py:5067 (0.5.14); layers/quantization/compressed_tensors/compressed_tensors.py:674 (0.5.9), :912-951 (0.5.23)",
  },
];
