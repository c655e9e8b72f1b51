/** Several GPUs: divisibility, all-reduce, NCCL. */
import { isSm100, listed, major, smOf } from "../conditions";
import type { Facts, Rule } from "../rule";

/** Name of the patch that lets flashinfer's all-reduce fusion run on SM120. */
export const ALL_REDUCE_FUSION_PATCH = "sm120-all-reduce-fusion";

const PCIE_ALL_REDUCE = "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE";
const P2P_LEVELS = ["LOC", "NVL", "PIX", "PXB", "PHB", "SYS"];

const fusionOffTarget = (facts: Facts) =>
  facts.settings.allReduceFusion &&
  facts.gpu !== undefined &&
  major(facts) !== 9 &&
  !isSm100(facts) &&
  !facts.patches.includes(ALL_REDUCE_FUSION_PATCH);

/** The model's heads by kind; key/value heads are copied when there are more GPUs than heads. */
const headsOf = ({ model }: Facts) => [
  { kind: "attention heads", count: model?.attentionHeads, copied: false },
  { kind: "key/value heads", count: model?.keyValueHeads, copied: true },
  { kind: "linear-attention key heads", count: model?.linearAttention?.keyHeads, copied: false },
  { kind: "linear-attention value heads", count: model?.linearAttention?.valueHeads, copied: false },
];

/** The kinds of heads that so many GPUs cannot share evenly, in words. */
const unshared = (facts: Facts, size: number) =>
  headsOf(facts).flatMap(({ kind, count, copied }) =>
    count === undefined || count % size === 0 || (copied && size % count === 0) ? [] : [`${count} ${kind}`],
  );

const fittingSizes = (facts: Facts) =>
  Array.from({ length: facts.gpuCount }, (_, index) => index + 1).filter(
    (size) => unshared(facts, size).length === 0,
  );

export const PARALLEL_RULES: readonly Rule[] = [
  {
    id: "R19",
    subject: "flashinfer's all-reduce fusion outside SM90 and SM10x",
    cases: [
      {
        builds: { before: "0.5.14" },
        when: fusionOffTarget,
        severity: "warning",
        setting: "extraArgs",
        message: (facts) =>
          `all-reduce fusion does nothing on ${smOf(facts)}; it has nothing to do with the attention backend`,
        fix: "take the flag out",
      },
      {
        builds: { from: "0.5.14" },
        when: fusionOffTarget,
        severity: "error",
        setting: "extraArgs",
        message: "ValueError: FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.",
        fix: "take the flag out",
      },
    ],
    evidence:
      "layers/communicator.py:91 (v0.5.9); layers/flashinfer_comm_fusion.py:50 (v0.5.14); server_args.py:4295-4325 (v0.5.14); PR #32330, closed",
  },
  {
    id: "R20",
    subject: "custom all-reduce on more than two GPUs without NVLink",
    cases: [
      {
        when: (facts) =>
          facts.settings.tensorParallel > 2 && facts.gpu?.nvlink === false && facts.settings.customAllReduce,
        severity: "info",
        setting: "disableCustomAllReduce",
        message:
          "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs: the server does so by itself",
        fix: "set disableCustomAllReduce, which only silences the server's warning",
      },
    ],
    evidence:
      "distributed/device_communicators/custom_all_reduce.py:146 (v0.5.9); custom_all_reduce_utils.py (0.5.10+)",
  },
  {
    id: "R35",
    subject: "tensor parallelism that does not divide the model's heads",
    cases: [
      {
        when: (facts) => unshared(facts, facts.settings.tensorParallel).length > 0,
        severity: "error",
        setting: "tensorParallel",
        message: (facts) =>
          `AssertionError: ${facts.settings.tensorParallel} GPUs cannot share evenly ${unshared(facts, facts.settings.tensorParallel).join(", ")}`,
        fix: (facts) => `set tensorParallel to ${listed(fittingSizes(facts).map(String))}`,
      },
    ],
    evidence:
      "assertions of the models and of layers/linear.py; Qwen3.6-27B (24 query heads, 16 linear key heads) fits 1, 2, 4, 8",
  },
  {
    id: "R48",
    subject: `all-reduce over PCIe (${PCIE_ALL_REDUCE})`,
    cases: [
      {
        builds: { before: "0.5.21" },
        when: (facts) => facts.env[PCIE_ALL_REDUCE] !== undefined,
        severity: "warning",
        setting: `env.${PCIE_ALL_REDUCE}`,
        message: "this build does not know the variable; it came with 0.5.21",
        fix: "take it out, or use 0.5.22 or newer",
      },
      {
        builds: { from: "0.5.21", before: "0.5.22" },
        when: (facts) => facts.env[PCIE_ALL_REDUCE] === "1",
        severity: "warning",
        setting: `env.${PCIE_ALL_REDUCE}`,
        message: "this FlashInfer build has no pcie_ipc_comm; falling back to NCCL all-reduce.",
        fix: "use 0.5.22 or newer (flashinfer 0.7.1)",
      },
      {
        builds: { from: "0.5.22" },
        when: (facts) => facts.env[PCIE_ALL_REDUCE] === "1",
        severity: "info",
        setting: `env.${PCIE_ALL_REDUCE}`,
        message:
          "all-reduce over PCIe works for BF16 and decode sizes only, and not with deterministic inference",
        fix: "probe it before it serves",
      },
    ],
    evidence:
      "distributed/device_communicators/pcie_ipc_ar.py: on 8x SM120 12 KiB in 5.3 instead of 205 us, 35 -> 48 tokens/s at TP8",
  },
  {
    id: "N1",
    subject: "NCCL_P2P_DISABLE=1 together with NCCL_P2P_LEVEL",
    cases: [
      {
        when: ({ env }) => env["NCCL_P2P_DISABLE"] === "1" && env["NCCL_P2P_LEVEL"] !== undefined,
        severity: "warning",
        setting: "env.NCCL_P2P_LEVEL",
        message: "with NCCL_P2P_DISABLE=1 the level is never looked at: one of the two is dead",
        fix: "take one of them out",
      },
    ],
    evidence: "NCCL documentation, NCCL_P2P_DISABLE and NCCL_P2P_LEVEL",
  },
  {
    id: "N2",
    subject: "NCCL_P2P_LEVEL that is not one of its words",
    cases: [
      {
        when: ({ env }) => /^\d+$/.test(env["NCCL_P2P_LEVEL"] ?? ""),
        severity: "error",
        setting: "env.NCCL_P2P_LEVEL",
        message: ({ env }) =>
          `the meaning of the number ${env["NCCL_P2P_LEVEL"] ?? ""} changed with NCCL 2.4.7, and a wrong level can deadlock (100 % utilisation, about 140 W)`,
        fix: `use a word: ${P2P_LEVELS.join(", ")} (one CPU: PHB, two sockets: SYS)`,
      },
      {
        when: ({ env }) => {
          const level = env["NCCL_P2P_LEVEL"];
          return level !== undefined && !/^\d+$/.test(level) && !P2P_LEVELS.includes(level);
        },
        severity: "error",
        setting: "env.NCCL_P2P_LEVEL",
        message: ({ env }) => `NCCL does not know the level "${env["NCCL_P2P_LEVEL"] ?? ""}"`,
        fix: `use one of ${P2P_LEVELS.join(", ")}`,
      },
    ],
    evidence: "NCCL documentation, NCCL_P2P_LEVEL; voipmonitor/rtx6kpro wiki 29f3863",
  },
  {
    id: "N3",
    subject: "CUDA_HOME without its bin folder in PATH",
    cases: [
      {
        when: ({ env }) => {
          const home = env["CUDA_HOME"]?.replace(/\/+$/, "");
          return home !== undefined && !(env["PATH"] ?? "").split(":").includes(`${home}/bin`);
        },
        severity: "warning",
        setting: "env.PATH",
        message: ({ env }) =>
          `kernels that are compiled at run time find no nvcc: ${env["CUDA_HOME"] ?? ""}/bin is not in PATH`,
        fix: ({ env }) =>
          `set PATH to ${env["CUDA_HOME"] ?? ""}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      },
    ],
    evidence: "inferred: flashinfer and Triton look for nvcc in PATH",
  },
  {
    id: "N4",
    subject: "CUDA_DEVICE_MAX_CONNECTIONS, which the server sets itself",
    cases: [
      {
        when: ({ env }) => !["8", undefined].includes(env["CUDA_DEVICE_MAX_CONNECTIONS"]),
        severity: "warning",
        setting: "env.CUDA_DEVICE_MAX_CONNECTIONS",
        message: ({ env }) =>
          `the server overwrites it with 8; ${env["CUDA_DEVICE_MAX_CONNECTIONS"] ?? ""} has no effect`,
        fix: "take it out",
      },
    ],
    evidence: "environment set by the engine at start-up, read in 0.5.9 to 0.5.23",
  },
];
