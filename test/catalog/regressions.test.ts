import { evaluateHostRules, gpuByName, knowledgeOf, parseBuild } from "../../catalog";
import { findingsOf, verdictOf, type Case } from "./support";

const NEXTN =
  "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4";
const EXTRA_BUFFER = "--mamba-scheduler-strategy extra_buffer";

/** System B: eight Blackwell cards, main of 2026-03-07, modelopt_fp4 stated. */
const B = {
  release: "main-20260307",
  model: "qwen3.5-397b-a17b-nvfp4",
  gpu: "rtx-pro-6000-blackwell",
  count: 8,
} as const;
const B_COMMON = "--quantization modelopt_fp4 --disable-custom-all-reduce";

const C = {
  model: "kimi-k2.5",
  gpu: "rtx-pro-6000-blackwell",
  count: 8,
  draft: "kimi-k2.5-eagle3-mla",
} as const;
const EAGLE3 =
  "--disable-custom-all-reduce --kv-cache-dtype bf16 --attention-backend flashinfer --speculative-algorithm EAGLE3 --speculative-draft-model-path /models/d --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --max-running-requests 8";

interface Row extends Case {
  readonly name: string;
  readonly verdict: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    name: "A-h1: 0.5.9 with flashinfer and MTP is refused: looping text whatever the backend",
    release: "0.5.9",
    args: `--attention-backend flashinfer --max-running-requests 4 ${NEXTN}`,
    verdict: ["error M1", "error R30", "warning R7"],
  },
  {
    name: "A-h2: the same with triton is refused for the same reasons",
    release: "0.5.9",
    args: `--attention-backend triton --max-running-requests 4 ${NEXTN}`,
    verdict: ["error M1", "error R30", "warning R7"],
  },
  {
    name: "A-h3: a transformers of another version than the release pins is named",
    release: "0.5.9",
    args: "--attention-backend triton --disable-radix-cache",
    packages: { sglang: "0.5.9", transformers: "5.8.0" },
    verdict: ["error M1", "error R30", "warning P1"],
  },
  {
    name: "A-h4: 0.5.11 with MTP and without extra_buffer is refused",
    release: "0.5.11",
    args: `--attention-backend flashinfer --max-running-requests 4 ${NEXTN}`,
    verdict: ["error R7"],
  },
  {
    name: "A-h5: 0.5.11 with MTP, extra_buffer and SPEC_V2 is accepted",
    release: "0.5.11",
    args: `--attention-backend flashinfer --max-running-requests 4 ${NEXTN} ${EXTRA_BUFFER}`,
    env: { SGLANG_ENABLE_SPEC_V2: "1" },
    verdict: [],
  },
  {
    name: "B-v1: flashinfer with all-reduce fusion is refused on that commit",
    ...B,
    args: `--attention-backend flashinfer --enable-flashinfer-allreduce-fusion ${B_COMMON}`,
    verdict: [
      "error R1",
      "warning R8c",
      "warning R19",
      "warning R21",
      "warning R25",
      "warning R28",
      "warning R30",
    ],
  },
  {
    name: "B-v1 with the SM120 patch: the fusion flag is no finding, the backend still is",
    ...B,
    args: `--attention-backend flashinfer --enable-flashinfer-allreduce-fusion ${B_COMMON}`,
    patches: ["sm120-all-reduce-fusion"],
    verdict: ["error R1", "warning R8c", "warning R21", "warning R25", "warning R28", "warning R30"],
  },
  {
    name: "B-v1 as the assertion advises: trtllm_mha is refused on SM120 too",
    ...B,
    args: `--attention-backend trtllm_mha ${B_COMMON}`,
    verdict: ["error R2", "warning R8c", "warning R21", "warning R25", "warning R28", "warning R30"],
  },
  {
    name: "B-v2: triton is accepted, with R21, R25 and R28 still raised",
    ...B,
    args: `--attention-backend triton ${B_COMMON}`,
    verdict: ["warning R8c", "warning R21", "warning R25", "warning R28", "warning R30"],
  },
  {
    name: "B-v3: MoE and FP4 backends stated, R28 still raised",
    ...B,
    args: `--attention-backend triton --moe-runner-backend flashinfer_cutlass --fp4-gemm-backend flashinfer_cudnn ${B_COMMON}`,
    verdict: ["warning R8c", "warning R28", "warning R30"],
  },
  {
    name: "B-v4: bf16 KV, the baseline",
    ...B,
    args: `--attention-backend triton --moe-runner-backend flashinfer_cutlass --fp4-gemm-backend flashinfer_cudnn --kv-cache-dtype bf16 ${B_COMMON}`,
    verdict: ["warning R8c", "warning R30"],
  },
  {
    name: "B on 0.5.9 itself: the default FP4 kernels are refused",
    ...B,
    release: "0.5.9",
    args: `--attention-backend triton --moe-runner-backend flashinfer_cutlass --kv-cache-dtype bf16 ${B_COMMON}`,
    verdict: ["error R25", "warning R8c", "warning R30"],
  },
  {
    name: "B with an MoE runner that gave NaN is refused",
    ...B,
    args: `--attention-backend triton --moe-runner-backend flashinfer_trtllm --fp4-gemm-backend flashinfer_cudnn --kv-cache-dtype bf16 ${B_COMMON}`,
    verdict: ["error R21", "warning R8c", "warning R30"],
  },
  {
    name: "C-W3: EAGLE-3 below 0.5.10 is refused",
    ...C,
    release: "0.5.9",
    args: EAGLE3,
    verdict: ["error R17", "error R17"],
  },
  {
    name: "C-W3: the MLA draft below 0.5.12 is refused",
    ...C,
    release: "0.5.11",
    args: EAGLE3,
    verdict: ["error R17"],
  },
  { name: "C: 0.5.12.post1 is accepted", ...C, release: "0.5.12.post1", args: EAGLE3, verdict: [] },
  {
    name: "C-W3: FP8 KV with INT4 weights is warned about",
    ...C,
    release: "0.5.12.post1",
    args: EAGLE3.replace("bf16", "fp8_e4m3"),
    verdict: ["warning M3", "warning R29"],
  },
  {
    name: "C-W1: the NCCL table's values raise nothing",
    ...C,
    release: "0.5.12.post1",
    args: EAGLE3,
    env: {
      NCCL_P2P_LEVEL: "SYS",
      NCCL_IB_DISABLE: "1",
      NCCL_MIN_NCHANNELS: "8",
      NCCL_ALLOC_P2P_NET_LL_BUFFERS: "1",
      OMP_NUM_THREADS: "8",
      CUDA_HOME: "/usr/local/cuda-13.0",
      PATH: "/usr/local/cuda-13.0/bin:/usr/bin:/bin",
    },
    verdict: [],
  },
  {
    name: "C with a numeric NCCL_P2P_LEVEL is refused",
    ...C,
    release: "0.5.12.post1",
    args: EAGLE3,
    env: { NCCL_P2P_LEVEL: "5" },
    verdict: ["error N2"],
  },
  {
    name: "G-W4: NVFP4 on an A6000 is refused",
    release: "0.5.11",
    model: "qwen3.5-397b-a17b-nvfp4",
    args: "--attention-backend triton --kv-cache-dtype bf16 --disable-radix-cache",
    verdict: ["error R24"],
  },
];

describe("every wrong turn of the deployment", () => {
  test.each(ROWS)("$name", (row) => {
    expect(verdictOf(row)).toEqual(row.verdict);
  });

  test("A-h1 names the card's minimum and the changes that are missing", () => {
    const texts = findingsOf({ release: "0.5.9", args: `--attention-backend triton ${NEXTN}` })
      .filter(({ severity }) => severity === "error")
      .map(({ id, path, message, fix }) => ({ id, path, message, fix }));
    expect(texts).toEqual([
      {
        id: "M1",
        path: "proxmox-gpu-stack:services.x.release",
        message: "the card of qwen3.6-27b asks for sglang>=0.5.10, this is 0.5.9",
        fix: "use 0.5.10 or newer",
      },
      {
        id: "R30",
        path: "proxmox-gpu-stack:services.x.release",
        message:
          "0.5.9 gives degenerate text with this model: it lacks #19411 (repetition), #19070 (dense, several GPUs) and #19961; another attention backend does not help",
        fix: "use 0.5.11 or newer",
      },
    ]);
  });

  test("B-v1's refusal repeats the server's text and offers what works on this card only", () => {
    const [finding] = findingsOf({ ...B, args: `--attention-backend flashinfer ${B_COMMON}` });
    expect(finding).toMatchObject({
      id: "R1",
      path: "proxmox-gpu-stack:services.x.attentionBackend",
      message:
        "the server ends with an AssertionError while it loads: triton or trtllm_mha or fa4 backend are the only supported backends on Blackwell GPUs for hybrid GDN models, use --attention-backend triton or --attention-backend trtllm_mha to specify the backend. (got prefill flashinfer, decode flashinfer)",
      fix: "use --attention-backend triton",
    });
  });
});

describe("H-W1: Qwen3.6-27B by release", () => {
  const args = `--attention-backend flashinfer --max-running-requests 4 ${NEXTN} ${EXTRA_BUFFER}`;
  const env = { SGLANG_ENABLE_SPEC_V2: "1" };
  test.each([
    ["0.5.9", ["error M1", "error R30"]],
    ["0.5.10", ["warning R30"]],
    ["0.5.10.post1", ["warning R30"]],
    ["0.5.11", []],
    ["0.5.12", []],
  ])("%s", (release, verdict) => {
    expect(verdictOf({ release, args, env })).toEqual(verdict);
  });
});

describe("H-W3: a version that the data does not hold", () => {
  test("is unknown when it is older or in between, and so is a commit", () => {
    expect(parseBuild("0123456789abcdef0123456789abcdef01234567")).toBeUndefined();
    expect(parseBuild("latest")).toBeUndefined();
    expect(knowledgeOf({ kind: "release", version: "0.5.8" })).toBe("unknown");
    expect(knowledgeOf({ kind: "release", version: "0.5.14.post7" })).toBe("unknown");
  });

  test("gives one warning when it is newer, and the open rules hold for it", () => {
    expect(
      verdictOf({
        release: "0.5.24",
        args: "--attention-backend flashinfer --mamba-scheduler-strategy auto",
      }),
    ).toEqual(["error R40", "warning release-newer"]);
    const [, newer] = findingsOf({
      release: "0.5.24",
      args: "--attention-backend flashinfer --bogus",
    });
    expect(newer).toMatchObject({
      id: "release-newer",
      message:
        "0.5.24 is newer than the catalog (0.5.23): its flags and known faults are taken to be those of 0.5.23",
      fix: "./stack catalog add-release 0.5.24",
    });
  });
});

describe("H-W4: the lock beside the release's pins", () => {
  test("names the package and both versions", () => {
    const findings = findingsOf({
      release: "0.5.11",
      args: "--attention-backend flashinfer --disable-radix-cache",
      packages: { sglang: "0.5.11", torch: "2.11.0+cu130", transformers: "5.8.0", xgrammar: "0.1.32" },
    });
    expect(findings.map(({ id, message }) => ({ id, message }))).toEqual([
      {
        id: "P1",
        message: "the lock differs from the release's own pins: transformers 5.8.0 (0.5.11 pins ==5.6.0)",
      },
    ]);
  });

  test("names known breakages that no pin forbids", () => {
    const findings = findingsOf({
      release: "0.5.11",
      args: "--attention-backend flashinfer --disable-radix-cache",
      packages: {
        sglang: "0.5.11",
        transformers: "5.6.0",
        kernels: "0.17.0",
        tokenizers: "0.23.2",
        fastapi: "0.165.0",
        starlette: "1.10.0",
      },
    });
    expect(findings.map(({ id, severity, message, fix }) => ({ id, severity, message, fix }))).toEqual([
      {
        id: "P2",
        severity: "error",
        message: "kernels 0.17.0 with transformers 5.6.0: transformers 5.6.0 cannot be imported",
        fix: "lock kernels>=0.12,<0.13",
      },
      {
        id: "P3",
        severity: "error",
        message: "tokenizers 0.23.2 with transformers 5.6.0: transformers 5.6.0 refuses to start",
        fix: "lock tokenizers<=0.23.0",
      },
      {
        id: "P4",
        severity: "warning",
        message: "fastapi 0.165.0 with sglang 0.5.11: with --enable-metrics /v1/loads answers 500",
        fix: "lock fastapi<0.165",
      },
      {
        id: "P5",
        severity: "warning",
        message: "starlette 1.10.0 with sglang 0.5.11: with --enable-metrics /v1/loads answers 500",
        fix: "lock starlette<1.10",
      },
    ]);
  });
});

describe("the driver", () => {
  const cards = (name: string, count: number) =>
    Array.from({ length: count }, () => gpuByName(name)).flatMap((gpu) => gpu ?? []);
  const check = (
    version: string,
    modules: "open" | "proprietary",
    gpu: string,
    release: string,
    count = 2,
  ) => {
    const build = parseBuild(release);
    if (build === undefined) throw new Error(release);
    return evaluateHostRules({
      path: "proxmox-gpu-stack:driver",
      driver: { version, modules },
      gpus: cards(gpu, count),
      builds: [build],
    }).map(({ id, severity, path, message, fix }) => `${severity} ${id} ${path}: ${message} -> ${fix}`);
  };

  test("580 with either modules serves an A6000", () => {
    expect(check("580.105.08", "open", "rtx-a6000", "0.5.11")).toEqual([]);
    expect(check("580.105.08", "proprietary", "rtx-a6000", "0.5.11")).toEqual([]);
  });

  test("CUDA 13 asks for 580, CUDA 12.9 does not", () => {
    expect(check("570.172.08", "open", "rtx-a6000", "0.5.11")).toEqual([
      "warning D3 proxmox-gpu-stack:driver.version: SGLang 0.5.11 brings CUDA 13, which is said to need driver 580; this is 570.172.08 -> use 580 or newer",
    ]);
    expect(check("570.172.08", "open", "rtx-a6000", "0.5.10.post1")).toEqual([]);
  });

  test("Blackwell needs open modules", () => {
    expect(check("590.48.01", "proprietary", "rtx-pro-6000-blackwell", "0.5.11")).toEqual([
      "error D1 proxmox-gpu-stack:driver.modules: NVIDIA RTX PRO 6000 Blackwell Workstation Edition requires use of the NVIDIA open kernel modules (RmInitAdapter failed) -> set modules to open",
    ]);
  });

  test.each([
    ["rtx-pro-6000-blackwell", "570.124.04", "570.133.07", "Workstation Edition"],
    ["rtx-pro-6000-blackwell-max-q", "570.124.04", "570.133.07", "Max-Q Workstation Edition"],
    ["rtx-pro-6000-blackwell-server", "570.172.08", "575.57.08", "Server Edition"],
  ])("%s does not run with %s, but with %s", (gpu, old, first, edition) => {
    expect(check(old, "open", gpu, "0.5.10")).toEqual([
      `error D2 proxmox-gpu-stack:driver.version: driver ${old} does not know NVIDIA RTX PRO 6000 Blackwell ${edition} -> use ${first} or newer`,
    ]);
    expect(check(first, "open", gpu, "0.5.10")).toEqual([]);
  });

  test("eight Blackwell cards on PCIe are advised 590.48", () => {
    expect(check("580.159.04", "open", "rtx-pro-6000-blackwell", "0.5.11", 8)).toEqual([
      "info D4 proxmox-gpu-stack:driver.version: tuning notes for 8 Blackwell cards on PCIe ask for driver 590.48 or newer -> use 590.48 or newer if the all-reduce is slow",
    ]);
    expect(check("590.48.01", "open", "rtx-pro-6000-blackwell", "0.5.11", 8)).toEqual([]);
  });
});
