import { gpuByName, modelByName, type CatalogModel, type Gpu } from "../../../catalog";
import { NothingFits, recommend } from "../../../plan/service/recommend";

const ask = (model: string, gpu: string, count: number) =>
  recommend(modelByName(model) as CatalogModel, gpuByName(gpu) as Gpu, count);

describe("a recommendation", () => {
  test("for Qwen3.6-27B on two A6000 is a release without warnings, spelt out", () => {
    const { release, service, plan, pins } = ask("qwen3.6-27b", "rtx-a6000", 2);
    expect(plan.findings.filter(({ severity }) => severity !== "info")).toEqual([]);
    expect(pins["torch"]).toBeDefined();
    expect(service).toEqual({
      release,
      servedModelName: "qwen3.6-27b",
      tensorParallel: 2,
      contextLength: 262_144,
      memFractionStatic: 0.8,
      maxRunningRequests: 6,
      attentionBackend: "flashinfer",
      mambaScheduler: "extra_buffer",
      reasoningParser: "qwen3",
      toolCallParser: "qwen3_coder",
      speculative: { algorithm: "nextn", steps: 3, topk: 1 },
    });
  });

  test("prefers a release that has served the model, else the newest of those without warnings", () => {
    expect(ask("qwen3.6-27b", "rtx-a6000", 2).release).toBe("0.5.11");
    expect(ask("qwen3.6-27b", "rtx-a6000", 2).why[0]).toBe(
      "0.5.11 has the fewest known problems with this model on this card and is known to have served it well",
    );
    expect(ask("kimi-k2.5", "rtx-pro-6000-blackwell", 8).release).toBe("0.5.23");
  });

  test("for NVFP4 on Blackwell states every backend", () => {
    expect(ask("qwen3.5-397b-a17b-nvfp4", "rtx-pro-6000-blackwell", 8).service).toMatchObject({
      quantization: "modelopt_fp4",
      attentionBackend: "triton",
      moeRunnerBackend: "flashinfer_cutlass",
      fp4GemmBackend: "flashinfer_cudnn",
      kvCacheDtype: "bf16",
    });
  });

  test("for Kimi says that speculation needs a draft model", () => {
    expect(ask("kimi-k2.5", "rtx-pro-6000-blackwell", 8).why).toContain(
      "speculation needs a draft model: add speculative with its draftModel",
    );
  });

  test.each([
    ["qwen3.6-27b", "rtx-a6000", 1, "memory: "],
    ["kimi-k2.5", "h200", 2, "memory: "],
    ["qwen3.6-27b", "rtx-a6000", 3, "R35: "],
  ])("for %s on %s x %i is refused with the reasons", (model, gpu, count, reason) => {
    expect(() => ask(model, gpu, count)).toThrow(NothingFits);
    expect(() => ask(model, gpu, count)).toThrow(`\n${reason}`);
  });
});
