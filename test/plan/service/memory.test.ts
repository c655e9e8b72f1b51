import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { gpuByName, modelByName, parseBuild, type Build, type Gpu } from "../../../catalog";
import { bytesPerToken, planMemory, stateBytes, type MemoryRequest } from "../../../plan/service/memory";
import { planned, SYSTEM_A, SYSTEM_C, verdictOf } from "./support";

const build = (release: string) => parseBuild(release) as Build;
const gpu = (name: string) => gpuByName(name) as Gpu;

/** The tiny model that a real 0.5.11 server served: 3 GDN layers, 1 full layer, on a card of 141 GB. */
const REAL: MemoryRequest = {
  build: build("0.5.11"),
  gpu: gpu("h200"),
  model: {
    architecture: "Qwen3_5ForConditionalGeneration",
    fullAttentionLayers: 1,
    keyValueHeads: 2,
    headSize: 256,
    linearAttention: {
      layers: 3,
      valueHeads: 4,
      keyHeads: 2,
      valueHeadSize: 128,
      keyHeadSize: 128,
      convolutionKernel: 4,
    },
    mixtureOfExperts: false,
    contextLength: 32_768,
    fp8KeyValueCache: false,
    keyValueScales: false,
    weightsBytes: 32_000_000,
    predictionLayers: 1,
    stateType: "float32",
  },
  tensorParallel: 1,
  fraction: 0.2,
  contextLength: 32_768,
  contextIsStated: true,
  keyValueType: "auto",
  draftTokens: 4,
  maxRunningRequests: 48,
  stateRatio: undefined,
  extraBuffer: true,
};

describe("the pools of a real server", () => {
  const reported = JSON.parse(
    readFileSync(join(__dirname, "fixtures", "server-info-0.5.11.json"), "utf8"),
  ) as Record<string, unknown>;

  test("are computed within one percent", () => {
    const { memory } = planMemory(REAL);
    const real = reported["max_total_num_tokens"] as number;
    expect(real).toBe(7_609_568);
    expect(Math.abs(memory.tokens / real - 1)).toBeLessThan(0.01);
    // Start log: "intermediate_ssm_state_cache size: 0.14GB", "ssm_state size: 12.76GB" and "conv_state size: 0.30GB".
    expect(memory.draftStates / 2 ** 30).toBeCloseTo(0.14, 2);
    expect(memory.statePool / 2 ** 30).toBeCloseTo(12.76 + 0.3, 0);
  });

  test("report what a plan of the same service expects", () => {
    const { expectedServerInfo } = planned(
      SYSTEM_A,
      {
        modelPath: "/models/tiny",
        servedModelName: "tiny",
        listen: "127.0.0.1",
        attentionBackend: "triton",
        memFractionStatic: 0.2,
        maxRunningRequests: 48,
        metrics: true,
        contextLength: undefined,
      },
      { gpus: ["h200"], model: REAL.model },
    );
    expect(Object.keys(expectedServerInfo)).toHaveLength(16);
    expect(reported).toMatchObject(expectedServerInfo);
  });
});

describe("sizes per token and request", () => {
  test.each([
    ["kimi-k2.5", 8, "bf16", 70_272],
    ["kimi-k2.5", 1, "bf16", 70_272],
    ["qwen3.5-397b-a17b-nvfp4", 2, "bf16", 15_360],
    ["qwen3.5-397b-a17b-nvfp4", 8, "bf16", 15_360],
    ["qwen3.5-397b-a17b-nvfp4", 8, "auto", 7_680],
    ["qwen3.6-27b", 2, "auto", 32_768],
    ["qwen3.6-27b", 2, "fp8_e4m3", 16_384],
  ])("%s on %i GPUs with %s takes %i bytes a token", (name, size, type, bytes) => {
    const model = modelByName(name);
    expect(model && bytesPerToken(model, size, type)).toBe(bytes);
  });

  test("a request's state is 75.5 MB at tensor parallel 2, 188.7 MB in all for the larger model", () => {
    const small = modelByName("qwen3.6-27b");
    const large = modelByName("qwen3.5-397b-a17b-nvfp4");
    expect(small && stateBytes(small, 2)).toBe(75_497_472);
    expect(large && stateBytes(large, 1)).toBe(188_743_680);
  });
});

describe("a context that does not fit", () => {
  test("is refused with the numbers and the largest that would", () => {
    const plan = planned(SYSTEM_C, { contextLength: 262_144 });
    expect(plan.findings[0]).toEqual({
      id: "memory",
      severity: "error",
      path: "proxmox-gpu-stack:services.qwen.contextLength",
      message:
        "262144 tokens of context need 17.2 GiB of KV cache on each GPU and do not fit: each GPU has 94.8 GiB, 94 % of it are 89.1 GiB; weights take 73.3 GiB; left are 15.7 GiB",
      fix: "set contextLength to 239616 or less, raise memFractionStatic, or use more GPUs",
      evidence:
        "SGLang's own pools: model_executor/model_runner_kv_cache_mixin.py (0.5.11), checked against a real start log",
    });
    expect(plan.plannedMaxTotalTokens).toBeUndefined();
    expect(verdictOf(planned(SYSTEM_C, { contextLength: 239_616 }))[0]).not.toMatch(/^error/);
  });

  test("because the weights alone do not fit, says so", () => {
    const [finding] = planned(SYSTEM_A, {}, { gpus: ["rtx-a6000"] }).findings;
    expect(finding?.id).toBe("memory");
    expect(finding?.fix).toBe("the weights leave no room: use more GPUs, larger ones, or a smaller model");
  });

  test("with the owner's own number of requests is refused too", () => {
    const plan = planned(SYSTEM_A, { maxRunningRequests: 16 });
    expect(verdictOf(plan)).toEqual(["error memory contextLength"]);
    expect(plan.findings[0]?.fix).toBe(
      "set contextLength to 131072 or less, raise memFractionStatic, or use more GPUs",
    );
  });

  test("warns where the pools hold fewer requests than the owner asks for", () => {
    const plan = planned(SYSTEM_A, { maxRunningRequests: 16, contextLength: 131_072 });
    expect(verdictOf(plan)).toEqual(["warning memory-requests maxRunningRequests"]);
    expect(plan.findings[0]?.message).toBe(
      "the pools hold the recurrent states of 10 requests at once, not of 16: each GPU has 47.4 GiB, 80 % of it are 37.9 GiB; weights take 25.9 GiB, states of draft tokens 4.5 GiB, recurrent states 3.5 GiB",
    );
  });

  test("leaves fewer requests with a longer context, never a pool below the context", () => {
    const requests = [32_768, 65_536, 131_072, 262_144].map((contextLength) => {
      const { memory } = planned(SYSTEM_A, { contextLength });
      expect(memory?.tokens).toBeGreaterThanOrEqual(contextLength);
      return memory?.maxRunningRequests;
    });
    expect(requests).toEqual([8, 8, 8, 6]);
  });
});

test("a share that leaves nothing for activations is refused", () => {
  const plan = planned(SYSTEM_A, { memFractionStatic: 0.97 });
  expect(verdictOf(plan)[0]).toBe("error memory-margin memFractionStatic");
  expect(plan.findings[0]?.message).toBe(
    "outside its share of 46.0 GiB the server has 1.4 GiB for activations and graphs (2.0 GiB) and the draft's KV cache (0.5 GiB): it will run out of memory under load",
  );
});

test("what must be free before a start is the share and the margin, never more than the card has", () => {
  expect(planned(SYSTEM_A).freeMiBPerGpu).toBe(40_858);
  expect(planned(SYSTEM_C).freeMiBPerGpu).toBe(93_252);
  expect(planned(SYSTEM_A, { memFractionStatic: 0.99 }).freeMiBPerGpu).toBe(48_513);
});

test("whatever is asked, the largest context that a refusal names fits, and one step more does not", () => {
  const requests = fc.record({
    release: fc.constantFrom("0.5.11", "0.5.13", "0.5.23"),
    gpu: fc.constantFrom("rtx-a6000", "rtx-pro-6000-blackwell", "h200"),
    model: fc.constantFrom("qwen3.6-27b", "qwen3.5-397b-a17b-nvfp4", "kimi-k2.5"),
    tensorParallel: fc.constantFrom(2, 4, 8),
    fraction: fc.constantFrom(0.7, 0.8, 0.9, undefined),
    draftTokens: fc.constantFrom(undefined, 4),
    running: fc.constantFrom(undefined, 1, 8, 64),
  });
  fc.assert(
    fc.property(requests, ({ release, gpu: card, model: name, running, ...rest }) => {
      const model = modelByName(name);
      if (model?.weightsBytes === undefined) throw new Error(name);
      const request: MemoryRequest = {
        ...rest,
        build: build(release),
        gpu: gpu(card),
        model: { ...model, weightsBytes: model.weightsBytes },
        contextLength: model.contextLength,
        contextIsStated: true,
        keyValueType: "bf16",
        maxRunningRequests: running,
        stateRatio: undefined,
        extraBuffer: true,
      };
      const outcome = planMemory(request);
      if (outcome.kind === "fits") {
        expect(outcome.memory.tokens).toBeGreaterThanOrEqual(request.contextLength);
        return;
      }
      const { largestContext } = outcome;
      expect(planMemory({ ...request, contextLength: largestContext + 1024 }).kind).toBe("refused");
      if (largestContext > 0) {
        expect(planMemory({ ...request, contextLength: largestContext }).kind).toBe("fits");
      }
    }),
  );
});
