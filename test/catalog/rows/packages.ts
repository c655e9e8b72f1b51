import type { RuleRow } from "./rule-row";
import { QWEN, NVFP4, KIMI } from "./shared";

export const PACKAGES_ROWS: readonly RuleRow[] = [
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
    rule: "M1",
    fires: [{ release: "0.5.9" }, { release: "main-20260317" }],
    silent: [{ release: "0.5.10" }, { ...KIMI, release: "0.5.9" }],
  },
  {
    rule: "M6",
    fires: [
      { release: "0.5.11", packages: { "flashinfer-python": "0.6.8.post1" } },
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1" },
        args: "--sampling-backend pytorch --prefill-attention-backend flashinfer",
      },
    ],
    silent: [
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1" },
        args: "--sampling-backend pytorch --attention-backend triton",
      },
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1", "flashinfer-jit-cache": "0.6.8.post1" },
      },
      {
        release: "0.5.11",
        packages: { "flashinfer-python": "0.6.8.post1" },
        env: { CUDA_HOME: "/usr/local/cuda-13.0" },
      },
      { release: "0.5.11", packages: { orjson: "3.11.4" } },
    ],
  },
];
