import { parse } from "yaml";
import { recommend } from "../../../cli/recommend";

function run(options: Parameters<typeof recommend>[0]) {
  const out = jest.spyOn(process.stdout, "write").mockReturnValue(true);
  const err = jest.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    const code = recommend(options);
    const written = (spy: typeof out) => spy.mock.calls.map(([text]) => String(text)).join("");
    return { code, out: written(out), err: written(err) };
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
}

const A = { model: "Qwen/Qwen3.6-27B", gpu: "rtx-a6000", count: "2" };

describe("./stack recommend", () => {
  test("prints a fragment of a stack file with the reasons as comments", () => {
    const { code, out } = run(A);
    expect(code).toBe(0);
    expect(out).toMatch(/^# 0\.5\.11 has the fewest known problems with this model on this card/);
    expect(out).toContain(
      "# memory of each GPU: 47.4 GiB, of which weights 25.9, states 3.8, KV cache 8.2 for 269739 tokens\n",
    );
    expect(parse(out)).toEqual({
      "proxmox-gpu-stack:services": {
        recommended: expect.objectContaining({
          tensorParallel: 2,
          mambaScheduler: "extra_buffer",
        }) as unknown,
      },
    });
  });

  test("prints facts as JSON", () => {
    const facts = JSON.parse(run({ ...A, json: true }).out) as Record<string, unknown>;
    expect(Object.keys(facts)).toEqual([
      "release",
      "service",
      "pins",
      "memoryGiB",
      "arguments",
      "environment",
      "why",
    ]);
    expect(facts["memoryGiB"]).toEqual({
      available: 47.4,
      weights: 25.9,
      states: 3.8,
      keyValueCache: 8.2,
      tokens: expect.any(Number) as unknown,
    });
  });

  test("refuses with the reasons when nothing fits", () => {
    const { code, out, err } = run({ ...A, count: "1" });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^qwen3\.6-27b cannot be served on 1 x NVIDIA RTX A6000:\nmemory: /);
  });

  test.each([
    [
      { ...A, model: "qwen3.6-72b" },
      'the catalog does not know the model "qwen3.6-72b"; did you mean qwen3.6-27b?',
    ],
    [{ ...A, model: "qwen3.5-397b" }, "did you mean qwen3.5-397b-a17b-nvfp4?"],
    [{ ...A, gpu: "a6000" }, 'the catalog does not know the GPU "a6000"'],
    [{ ...A, count: "two" }, '--count must be a whole number from 1 to 64, not "two"'],
  ])("names what there is not", (options, message) => {
    expect(() => recommend(options)).toThrow(message);
  });
});
