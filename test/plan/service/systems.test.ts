import { loadRelease, RELEASES } from "../../../catalog";
import { LAB, leftToPlan, planned, SYSTEM_A, SYSTEM_B, SYSTEM_C, verdictOf } from "./support";

const words = (line: string) => line.trim().split(/\s+/);

describe("system A: Qwen3.6-27B on two A6000", () => {
  const plan = planned(SYSTEM_A);

  test("is the known command line, and what the narrative left to chance", () => {
    expect(plan.args).toEqual(
      words(`
        --model-path /models/qwen3.6-27b --served-model-name qwen3.6-27b
        --host 0.0.0.0 --port 30000 --tp-size 2
        --context-length 262144 --mem-fraction-static 0.8 --max-running-requests 6
        --reasoning-parser qwen3 --tool-call-parser qwen3_coder
        --attention-backend flashinfer
        --speculative-algorithm NEXTN --speculative-num-steps 3
        --speculative-eagle-topk 1 --speculative-num-draft-tokens 4
        --mamba-scheduler-strategy extra_buffer --mamba-full-memory-ratio 0.257`),
    );
    expect(plan.env).toEqual({ SGLANG_ENABLE_SPEC_V2: "1" });
  });

  test("says why it takes fewer requests than the server would: 48 need more memory than there is", () => {
    expect(plan.findings).toEqual([
      {
        id: "memory-requests",
        severity: "info",
        path: "proxmox-gpu-stack:services.qwen.maxRunningRequests",
        message:
          "the server's 48 requests at once would leave no room for 262144 tokens of context; the plan takes 6: each GPU has 47.4 GiB, 80 % of it are 37.9 GiB; weights take 25.9 GiB, states of draft tokens 1.7 GiB, recurrent states 2.1 GiB, KV cache 8.2 GiB",
        fix: "for more requests at once set a smaller contextLength or a larger memFractionStatic",
        evidence:
          "SGLang's own pools: model_executor/model_runner_kv_cache_mixin.py (0.5.11), checked against a real start log",
      },
    ]);
  });

  test("expects the server to report its release, which a development build does not", () => {
    expect(plan.expectedVersion).toBe("0.5.11");
    expect(planned(SYSTEM_B).expectedVersion).toBeUndefined();
  });

  test("expects the server to report the resolved values", () => {
    expect(plan.expectedServerInfo).toEqual({
      model_path: "/models/qwen3.6-27b",
      served_model_name: "qwen3.6-27b",
      host: "0.0.0.0",
      port: 30000,
      tp_size: 2,
      context_length: 262_144,
      mem_fraction_static: 0.8,
      max_running_requests: 6,
      reasoning_parser: "qwen3",
      tool_call_parser: "qwen3_coder",
      attention_backend: "flashinfer",
      speculative_algorithm: "EAGLE",
      speculative_num_steps: 3,
      speculative_eagle_topk: 1,
      speculative_num_draft_tokens: 4,
      mamba_scheduler_strategy: "extra_buffer",
      mamba_full_memory_ratio: 0.257,
    });
    expect(plan.sampling).toEqual({
      thinking: { temperature: 1, topP: 0.95, topK: 20 },
      nonThinking: { temperature: 0.7, topP: 0.8, presencePenalty: 1.5 },
    });
  });

  test("left to the plan, gives the same server", () => {
    expect(planned(leftToPlan(SYSTEM_A)).args).toEqual(plan.args);
  });

  test("with metrics asks for them", () => {
    expect(planned(SYSTEM_A, { metrics: true }).args).toEqual([...plan.args, "--enable-metrics"]);
  });

  test.each([
    ["0.5.13.post1", "--mamba-scheduler-strategy", { SGLANG_ENABLE_SPEC_V2: "1" }],
    ["0.5.14", "--mamba-radix-cache-strategy", {}],
    ["0.5.23", "--mamba-radix-cache-strategy", {}],
  ])("on %s is spelt %s", (release, flag, env) => {
    const other = planned(SYSTEM_A, { release });
    expect(other.args).toContain(flag);
    expect(other.args[other.args.indexOf(flag) + 1]).toBe("extra_buffer");
    expect(other.env).toEqual(env);
    expect(other.expectedServerInfo).toHaveProperty(flag.slice(2).replaceAll("-", "_"), "extra_buffer");
    expect(other.findings.filter(({ severity }) => severity !== "info")).toEqual([]);
  });

  test("on 0.5.9 and 0.5.10 is refused or warned about", () => {
    expect(
      verdictOf(planned(SYSTEM_A, { release: "0.5.9" })).filter((line) => !line.startsWith("info")),
    ).toEqual(["error M1 release", "error R30 release"]);
    expect(
      verdictOf(planned(SYSTEM_A, { release: "0.5.10" })).filter((line) => !line.startsWith("info")),
    ).toEqual(["warning R30 release"]);
  });
});

describe("system B: Qwen3.5-397B-A17B-NVFP4 on eight RTX PRO 6000", () => {
  const plan = planned(SYSTEM_B);

  test("is the table of the deployment, flag by flag", () => {
    expect(plan.args).toEqual(
      words(`
        --model-path /models/qwen3.5 --served-model-name qwen3.5-397b --host 0.0.0.0 --port 30000 --tp-size 8
        --reasoning-parser qwen3 --tool-call-parser qwen3_coder
        --quantization modelopt_fp4 --attention-backend triton
        --moe-runner-backend flashinfer_cutlass --fp4-gemm-backend flashinfer_cudnn
        --kv-cache-dtype bf16 --disable-custom-all-reduce`),
    );
    expect(plan.env).toEqual({ SGLANG_ENABLE_JIT_DEEPGEMM: "0" });
    expect(verdictOf(plan)).toEqual(["warning R8c mambaScheduler", "warning R30 release"]);
  });

  test("left to the plan, states everything that the rules call dangerous", () => {
    const left = planned(leftToPlan(SYSTEM_B));
    expect(left.args).toEqual(plan.args.filter((argument) => argument !== "--disable-custom-all-reduce"));
    expect(verdictOf(left)).toEqual([...verdictOf(plan), "info R20 disableCustomAllReduce"]);
  });

  test.each(RELEASES.filter((release) => !["0.5.9"].includes(release)))(
    "left to the plan, is free of errors on %s",
    (release) => {
      const left = planned(leftToPlan({ ...SYSTEM_B, service: { ...SYSTEM_B.service, release } }));
      expect(verdictOf(left).filter((line) => line.startsWith("error"))).toEqual([]);
    },
  );

  test("on two A6000 is refused for the format and for the size", () => {
    const moved = planned(leftToPlan(SYSTEM_B), { release: "0.5.11" }, { gpus: SYSTEM_A.gpus });
    expect(verdictOf(moved).filter((line) => line.startsWith("error"))).toEqual([
      "error memory contextLength",
      "error R24 model",
    ]);
    expect(moved.args).not.toContain("--fp4-gemm-backend");
  });
});

describe("system C: Kimi-K2.5 with EAGLE-3", () => {
  const plan = planned(SYSTEM_C);

  test("states its backend and its draft, and takes the context that fits", () => {
    expect(plan.args).toEqual(
      words(`
        --model-path /models/kimi-k2.5 --served-model-name kimi-k2.5 --host 0.0.0.0 --port 30000 --tp-size 8
        --context-length 239616 --mem-fraction-static 0.94
        --reasoning-parser kimi_k2 --tool-call-parser kimi_k2
        --attention-backend flashinfer --kv-cache-dtype bf16
        --speculative-algorithm EAGLE3 --speculative-draft-model-path /models/kimi-k2.5-eagle3-mla
        --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4`),
    );
    expect(plan.env).toEqual({});
    expect(verdictOf(plan)).toEqual([
      "info memory-context contextLength",
      "info R16 maxRunningRequests",
      "info R20 disableCustomAllReduce",
    ]);
  });

  test("without a stated backend takes the server's own, and says so to the server", () => {
    expect(planned(leftToPlan(SYSTEM_C)).expectedServerInfo).toMatchObject({ attention_backend: "triton" });
  });

  test("below 0.5.12 is refused", () => {
    expect(verdictOf(planned(SYSTEM_C, { release: "0.5.11" }))[0]).toBe("error R17 speculative.draftModel");
  });
});

describe("the lab's service", () => {
  test("is system A in small, and nothing is wrong with it", () => {
    const plan = planned(LAB);
    expect(plan.args).toEqual(
      words(`
        --model-path /models/qwen3.6-tiny --served-model-name qwen3.6-tiny --host 0.0.0.0 --port 30000 --tp-size 2
        --reasoning-parser qwen3 --tool-call-parser qwen3_coder --attention-backend triton
        --speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1
        --speculative-num-draft-tokens 4 --mamba-scheduler-strategy extra_buffer --enable-metrics`),
    );
    expect(verdictOf(plan)).toEqual(["info R16 maxRunningRequests"]);
  });
});

describe("every plan", () => {
  const systems = { A: SYSTEM_A, B: SYSTEM_B, C: SYSTEM_C, lab: LAB };

  test.each(RELEASES)("on %s holds canonical flags of that release only", (release) => {
    const names = new Set(loadRelease(release).flags.map(({ name }) => name));
    for (const system of Object.values(systems)) {
      for (const variant of [system, leftToPlan(system)]) {
        const { args } = planned({ ...variant, service: { ...variant.service, release } });
        expect(args.filter((argument) => argument.startsWith("--") && !names.has(argument))).toEqual([]);
      }
    }
  });
});
