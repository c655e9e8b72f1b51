import type { RuleRow } from "./rule-row";
import { NVFP4, KIMI } from "./shared";

export const PARALLEL_ROWS: readonly RuleRow[] = [
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
    rule: "R48",
    fires: [
      { ...KIMI, release: "0.5.20", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
      { ...KIMI, release: "0.5.21", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
      { ...KIMI, release: "0.5.22", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "1" } },
    ],
    silent: [{ ...KIMI, release: "0.5.22", env: { SGLANG_ENABLE_PCIE_IPC_ALLREDUCE: "0" } }],
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
    rule: "N4",
    fires: [{ release: "0.5.11", env: { CUDA_DEVICE_MAX_CONNECTIONS: "1" } }],
    silent: [{ release: "0.5.11", env: { CUDA_DEVICE_MAX_CONNECTIONS: "8" } }],
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
];
