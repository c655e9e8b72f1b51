import { cardSets } from "../../../plan/rehome/cards";
import { lockCandidates, runsOn } from "../../../plan/rehome/locks";
import { isLocalAddress } from "../../../plan/rehome/place";
import { carriedSettings } from "../../../plan/rehome/settings";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { emptyHost, move, stack, stackText } from "./support";

test.each([
  [["sm_80"], "rtx-a6000", true],
  [["sm_86"], "rtx-a6000", true],
  [["sm_89"], "rtx-a6000", false],
  [["sm_120a"], "rtx-a6000", false],
  [["sm_80", "sm_120a"], "rtx-pro-6000-blackwell", true],
  [["sm_80", "sm_90"], "rtx-pro-6000-blackwell", false],
  [["sm_90"], "h200", true],
])("code for %j runs on %s: %s", (architectures, gpu, expected) => {
  expect(runsOn(architectures, gpu)).toBe(expected);
});

test.each([
  ["http://10.6.6.2:8090", true],
  ["http://192.168.1.1/simple", true],
  ["https://172.20.0.1", true],
  ["https://hub.lan/x", true],
  ["https://172.40.0.1", false],
  ["https://mirror.example.org", false],
])("%s is an address of one network: %s", (url, expected) => {
  expect(isLocalAddress(url)).toBe(expected);
});

describe("cards are tried", () => {
  const counts = (present: { model: string; count: number }, cards: number): number[] =>
    cardSets(emptyHost("other", cards).config, present).map((set) => set.cards.length);

  test("as many of the same model first, then more, then fewer", () => {
    expect(counts({ model: "rtx-a6000", count: 2 }, 4)).toEqual([2, 4, 1]);
  });

  test("for other cards, the fewest with the same memory first", () => {
    expect(counts({ model: "rtx-pro-6000-blackwell", count: 1 }, 8)).toEqual([2, 4, 8, 1]);
    expect(counts({ model: "rtx-pro-6000-blackwell", count: 8 }, 2)).toEqual([2, 1]);
  });

  test("free ones before those that serve", () => {
    const busy = move(stack("kpro5", stackText("kpro5")), emptyHost("other", 4)).to;
    expect(cardSets(busy.config, { model: "rtx-a6000", count: 2 })[0]?.cards).toEqual(["card-2", "card-3"]);
  });
});

test("a container whose cards are free comes before one whose cards serve", () => {
  const busy = move(stack("kpro5", stackText("kpro5")), emptyHost("other", 2)).to;
  const { gpu } = busy.config.containers;
  if (gpu === undefined) throw new Error("the test's host has no container");
  const cards = Object.fromEntries(
    ["spare-0", "spare-1"].map((name) => [name, { model: "rtx-a6000", uuid: "unknown" }]),
  );
  const config = {
    ...busy.config,
    gpus: { ...busy.config.gpus, ...cards },
    containers: { gpu, spare: { ...gpu, vmId: 301, gpus: Object.keys(cards) } },
  };
  expect(cardSets(config, { model: "rtx-a6000", count: 2 })[0]).toMatchObject({ container: "spare" });
});

describe("settings", () => {
  const written = {
    environment: "e",
    model: "m",
    attentionBackend: "triton",
    kvCacheDtype: "bf16",
    memFractionStatic: 0.9,
    env: { NCCL_P2P_LEVEL: "SYS", KEEP: "1" },
    contextLength: 8192,
  };
  const blackwell = { model: "rtx-pro-6000-blackwell", count: 8 };

  test("about kernels and sizes stay with the cards, others go along", () => {
    const { settings, dropped } = carriedSettings(written, blackwell, { model: "rtx-a6000", count: 2 });
    expect(settings).toEqual({ kvCacheDtype: "bf16", contextLength: 8192, env: { KEEP: "1" } });
    expect(dropped).toHaveLength(3);
  });

  test("of the same cards go along, but what is tuned to the host", () => {
    expect(carriedSettings(written, blackwell, blackwell).settings).toMatchObject({
      attentionBackend: "triton",
      memFractionStatic: 0.9,
      env: { KEEP: "1" },
    });
  });

  test("of fewer cards of the same model keep their kernels, not their sizes", () => {
    const { settings } = carriedSettings(written, blackwell, { ...blackwell, count: 4 });
    expect(settings).toMatchObject({ attentionBackend: "triton" });
    expect(settings).not.toHaveProperty("memFractionStatic");
  });
});

describe("environments are tried", () => {
  const candidates = (own: string, present: string[], proven: string[]): string[] =>
    lockCandidates(own, present, proven, PROJECT_DIRECTORY);

  test("the own one first, then one whose release is known to serve the model, then what is there", () => {
    const names = candidates("qwen35-nightly-20260307", ["kimi-k25"], ["0.5.11"]);
    expect(names.slice(0, 3)).toEqual(["qwen35-nightly-20260307", "qwen36-sglang-0.5.11", "kimi-k25"]);
  });

  test("never the lab's for others, nor one without a lock", () => {
    const names = candidates("qwen36-sglang-0.5.11", ["lab-sglang-0.5.11"], []);
    expect(names.filter((name) => name.includes("lab"))).toEqual([]);
    expect(names).not.toContain("qwen35-nightly-20260307");
  });
});
