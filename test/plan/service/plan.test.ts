import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ResolvedService, StackConfig } from "../../../config/schema";
import { planService, serviceInput } from "../../../plan/service";
import { LAB, planned, SYSTEM_A, SYSTEM_B, SYSTEM_C, verdictOf } from "./support";

describe("extra arguments", () => {
  test("that the release knows are taken over as they are", () => {
    const plan = planned(LAB, { extraArgs: ["--page-size", "64", "--log-requests"] });
    expect(plan.args.slice(-3)).toEqual(["--page-size", "64", "--log-requests"]);
    expect(verdictOf(plan)).toEqual(["info R16 maxRunningRequests"]);
  });

  test("that it does not know are refused with the nearest one", () => {
    const plan = planned(LAB, { extraArgs: ["--pagesize", "64"] });
    expect(plan.findings[0]).toEqual({
      id: "unknown-argument",
      severity: "error",
      path: "proxmox-gpu-stack:services.qwen.extraArgs",
      message: "--pagesize is not a flag of SGLang 0.5.11",
      fix: "did you mean --page-size?",
      evidence: "the release's own argument parser",
    });
  });

  test.each([
    ["--tp-size", "2"],
    ["--tp", "2"],
    ["--tensor-parallel-size=2"],
    ["--attention-backend", "triton"],
  ])("that repeat a planned flag are refused: %s", (...extraArgs) => {
    expect(planned(LAB, { extraArgs }).findings[0]).toMatchObject({
      id: "duplicate-argument",
      severity: "error",
      path: "proxmox-gpu-stack:services.qwen.extraArgs",
      fix: "take it out and set the service's key for it",
    });
  });

  test("point at extraArgs, settings of the service at themselves", () => {
    const written = planned(LAB, { extraArgs: ["--quantization", "qop"] });
    const set = planned(LAB, { quantization: "qop" });
    expect(
      [written, set].map((plan) => plan.findings.find(({ id }) => id === "invalid-value")?.path),
    ).toEqual(["proxmox-gpu-stack:services.qwen.extraArgs", "proxmox-gpu-stack:services.qwen.quantization"]);
  });

  test("count for the rules like settings", () => {
    const plan = planned(SYSTEM_A, { extraArgs: ["--disable-radix-cache"] });
    expect(verdictOf(plan)).toEqual(["error R8 mambaScheduler", "info memory-requests maxRunningRequests"]);
  });
});

describe("releases", () => {
  test("that the catalog does not know are an error, and the arguments are those of the newest", () => {
    const plan = planned(LAB, { release: "0.5.8" });
    expect(plan.findings[0]).toMatchObject({
      id: "release-unknown",
      severity: "error",
      path: "proxmox-gpu-stack:services.qwen.release",
      message: "the catalog does not know SGLang 0.5.8: nothing can be said about it",
    });
    expect(plan.args).toContain("--mamba-radix-cache-strategy");
  });

  test("that are commits nobody described are an error of their own", () => {
    const [finding] = planned(LAB, { release: "0123456789abcdef" }).findings;
    expect(finding).toMatchObject({
      id: "release-unknown",
      message: "the catalog does not know SGLang 0123456789abcdef: nothing can be said about it",
      fix: "add the commit with its date to catalog/builds.ts",
    });
  });

  test("that are newer than the catalog give one warning", () => {
    expect(verdictOf(planned(LAB, { release: "0.5.24" }))).toEqual([
      "warning release-newer release",
      "info R16 maxRunningRequests",
    ]);
  });

  test("by commit follow the date of their rules", () => {
    const full = "f88acf8780f88acf8780f88acf8780f88acf8780";
    expect(verdictOf(planned(SYSTEM_B, { release: full, attentionBackend: "flashinfer" }))[0]).toBe(
      "error R1 attentionBackend",
    );
  });

  test("without a flag that the service needs are refused", () => {
    const plan = planned(LAB, { release: "0.5.9", extraArgs: ["--linear-attn-backend", "triton"] });
    expect(plan.findings.find(({ id }) => id === "unknown-argument")?.message).toBe(
      "--linear-attn-backend is not a flag of SGLang 0.5.9",
    );
  });
});

describe("cards", () => {
  test("that the catalog does not know are named with the nearest one", () => {
    expect(planned(LAB, {}, { gpus: ["rtx-a6001", "rtx-a6001"] }).findings[0]).toEqual({
      id: "gpu-unknown",
      severity: "warning",
      path: "proxmox-gpu-stack:services.qwen.gpus",
      message:
        "the catalog does not know the GPU rtx-a6001; it knows rtx-a6000, rtx-pro-6000-blackwell, rtx-pro-6000-blackwell-max-q, rtx-pro-6000-blackwell-server, h200",
      fix: "did you mean rtx-a6000?",
      evidence: "the plan of this service",
    });
  });

  test("that differ are planned like the smallest", () => {
    const plan = planned(LAB, {}, { gpus: ["rtx-pro-6000-blackwell", "rtx-a6000"] });
    expect(verdictOf(plan)[0]).toBe("warning gpus-differ gpus");
    expect(plan.memory?.available).toBe(planned(LAB).memory?.available);
  });
});

describe("acknowledgements", () => {
  const reason = "measured with our own long prompts";

  test("turn a finding into information that carries the reason", () => {
    const plan = planned(SYSTEM_B, {
      release: "0.5.12.post1",
      kvCacheDtype: "auto",
      acknowledge: [{ rule: "R28", reason }],
    });
    expect(plan.findings.find(({ id }) => id === "R28")).toMatchObject({
      severity: "info",
      acknowledged: reason,
      message:
        "auto silently becomes fp8_e4m3 on this checkpoint, which has harmed long contexts (acknowledged: measured with our own long prompts)",
    });
  });

  test("also of errors", () => {
    const plan = planned(SYSTEM_A, { release: "0.5.9", acknowledge: [{ rule: "R30", reason }] });
    expect(verdictOf(plan).filter((line) => line.startsWith("error"))).toEqual(["error M1 release"]);
  });

  test("of nothing are a warning", () => {
    const plan = planned(LAB, { acknowledge: [{ rule: "R28", reason }] });
    expect(plan.findings[0]).toMatchObject({
      id: "unused-acknowledgement",
      severity: "warning",
      path: "proxmox-gpu-stack:services.qwen.acknowledge",
      message: "R28 is acknowledged but does not fire",
    });
  });
});

describe("a model that nobody described", () => {
  test("is served as the owner says, with a warning", () => {
    const plan = planned(LAB, {}, { model: undefined });
    expect(plan.args).toContain("--tp-size");
    expect(plan.memory).toBeUndefined();
    expect(verdictOf(plan)[0]).toBe("warning model-unknown model");
  });
});

test("CUDA_HOME alone is fine, because the unit puts its bin folder into PATH", () => {
  const env = { CUDA_HOME: "/usr/local/cuda-13.0" };
  expect(verdictOf(planned(SYSTEM_C, { env })).filter((line) => line.includes("N3"))).toEqual([]);
  const stated = { ...env, PATH: "/usr/bin:/bin" };
  expect(verdictOf(planned(SYSTEM_C, { env: stated }))).toContain("warning N3 env.PATH");
});

test("the owner's variables win over the plan's", () => {
  expect(planned(SYSTEM_A, { env: { SGLANG_ENABLE_SPEC_V2: "0", NCCL_DEBUG: "INFO" } }).env).toEqual({
    SGLANG_ENABLE_SPEC_V2: "0",
    NCCL_DEBUG: "INFO",
  });
});

test("planning twice gives the same", () => {
  expect(planService(SYSTEM_C)).toEqual(planService(SYSTEM_C));
});

describe("the input from a stack", () => {
  const folder = mkdtempSync(join(tmpdir(), "project-"));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  mkdirSync(join(folder, "environments", "e"), { recursive: true });
  mkdirSync(join(folder, "models"));
  writeFileSync(
    join(folder, "environments", "e", "requirements.lock"),
    "# a lock\nsglang==0.5.11 \\\n    --hash=sha256:00\nFlashInfer_Python[cu13]==0.6.8.post1 \\\n    --hash=sha256:01\n",
  );
  const described = {
    config: {
      architectures: ["LlamaForCausalLM"],
      num_hidden_layers: 2,
      hidden_size: 64,
      num_attention_heads: 4,
      max_position_embeddings: 4096,
    },
    weightsBytes: 1000,
  };
  writeFileSync(join(folder, "models", "owner--small.json"), JSON.stringify(described));

  const stack = (model: object) =>
    ({
      gpus: { one: { model: "rtx-a6000" }, two: { model: "rtx-a6000" } },
      environments: { e: { lock: "e", python: "3.11" } },
      models: { m: model },
    }) as unknown as StackConfig;
  const service = { ...LAB.service, name: "qwen", environment: "e", model: "m", gpus: ["one", "two"] };
  const inputOf = (model: object) =>
    serviceInput(stack(model), service as unknown as ResolvedService, folder);

  test("takes the model from the catalog by name or repository", () => {
    expect(inputOf({ repo: "someone/copy", catalog: "qwen3.6-27b" }).model?.name).toBe("qwen3.6-27b");
    expect(inputOf({ repo: "qwen/qwen3.6-27B" }).model?.name).toBe("qwen3.6-27b");
  });

  test("or from its committed description", () => {
    expect(inputOf({ repo: "owner/small" }).model).toMatchObject({
      architecture: "LlamaForCausalLM",
      fullAttentionLayers: 2,
      weightsBytes: 1000,
    });
    expect(inputOf({ repo: "owner/other" }).model).toBeUndefined();
  });

  test("knows cards, packages and Python", () => {
    expect(inputOf({ repo: "owner/small" })).toMatchObject({
      path: "proxmox-gpu-stack:services.qwen",
      gpus: ["rtx-a6000", "rtx-a6000"],
      packages: { sglang: "0.5.11", "flashinfer-python": "0.6.8.post1" },
      python: "3.11",
    });
  });
});
