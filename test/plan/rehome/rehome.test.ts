import { PROJECT_DIRECTORY } from "../../../config/load";
import { copies } from "../../../plan/rehome/copies";
import { renderStack } from "../../../plan/render/stack";
import { changed, eightCards, emptyHost, move, stack, stackText } from "./support";

const kpro5 = stack("kpro5", stackText("kpro5"));
const kpro6 = stack("kpro6", stackText("kpro6"));

describe("kpro6's services on kpro5's two A6000", () => {
  const { moved, refused, text } = move(kpro6, kpro5);
  const of = (service: string) => refused.find(({ from }) => from === service);
  const [qwen, kimi] = [of("qwen"), of("kimi")];

  test("are refused, and nothing changes", () => {
    expect(moved).toEqual([]);
    expect(refused.map(({ from }) => from).sort()).toEqual(["kimi", "qwen"]);
    expect(text).toBe(stackText("kpro5"));
  });

  test("the NVFP4 model by rule R24 and by its size, with a way out for each", () => {
    expect(qwen?.on).toBe("2 x rtx-a6000");
    expect(qwen?.reasons.map(({ id }) => id)).toEqual(expect.arrayContaining(["R24", "memory"]));
    for (const { message, fix } of qwen?.reasons ?? []) expect([message, fix]).not.toContain("");
  });

  test("the 630 GB model by its size alone", () => {
    expect(kimi?.reasons.map(({ id }) => id)).toEqual(["memory"]);
  });

  test("and what fits is named with the command that prints it: another model of the family", () => {
    expect(qwen?.alternatives).toMatchObject([
      { model: "qwen3.6-27b", gpu: "rtx-a6000", count: 2, release: "0.5.11" },
    ]);
    expect(qwen?.alternatives[0]?.command).toBe(
      "./stack recommend --model qwen3.6-27b --gpu rtx-a6000 --count 2",
    );
  });
});

describe("a service of eight Blackwell cards on two A6000", () => {
  const { moved, refused, to, text } = move(eightCards(), emptyHost("other", 2));
  const rendered = Object.values(renderStack(to.config, to.plan)).join("\n");

  test("moves, is enabled, and has both cards", () => {
    expect(refused).toEqual([]);
    expect(moved).toMatchObject([{ from: "qwen", service: "qwen", cards: { cards: ["card-0", "card-1"] } }]);
    expect(to.config.services["qwen"]).toMatchObject({ enabled: true, tensorParallel: 2, container: "gpu" });
  });

  test("has kernels and memory for its new cards", () => {
    expect(rendered).toContain("--attention-backend flashinfer");
    expect(rendered).not.toContain("--mem-fraction-static 0.5");
    expect(moved[0]?.notes.join("\n")).toMatch(
      /attentionBackend: "triton" was chosen for 8 x rtx-pro-6000-blackwell/,
    );
  });

  test("keeps what is not about the host", () => {
    expect(to.config.services["qwen"]).toMatchObject({
      startTimeoutMinutes: 45,
      env: { HF_HUB_OFFLINE: "1" },
    });
  });

  test("leaves nothing of the other host, in the stack file and in what it renders", () => {
    for (const foreign of [
      "kpro6",
      "10.6.6.",
      "GPU-66666666",
      "pro6000",
      "NCCL",
      "OMP_NUM_THREADS",
      "modelopt",
      "--tp-size 8",
    ])
      expect(`${text}\n${rendered}`).not.toContain(foreign);
  });

  test("names what to copy, with bytes", () => {
    const { models, wheels } = copies(to.config, ["qwen"], PROJECT_DIRECTORY);
    expect(models).toMatchObject([{ name: "qwen", path: "/srv/models/qwen" }]);
    expect(models[0]?.bytes).toBeGreaterThan(50e9);
    expect(wheels).toMatchObject([{ lock: "qwen36-sglang-0.5.11" }]);
  });
});

test("an environment that was built for the other cards is picked anew, and its release with it", () => {
  const { moved, to } = move(eightCards("qwen35-nightly-20260307"), emptyHost("other", 2));
  expect(moved).toMatchObject([{ lock: "qwen36-sglang-0.5.11" }]);
  expect(moved[0]?.notes.join("\n")).toContain("qwen36-sglang-0.5.11 instead of qwen35-nightly-20260307");
  expect(to.config.services["qwen"]).toMatchObject({ release: "0.5.11", acknowledge: [] });
});

test("on the same cards everything stays as it is written", () => {
  const { to, moved } = move(kpro5, emptyHost("other", 2));
  const before = kpro5.config.services["qwen"];
  expect(to.config.services["qwen"]).toMatchObject({
    memFractionStatic: before?.memFractionStatic,
    attentionBackend: before?.attentionBackend,
    speculative: before?.speculative,
    user: "root",
  });
  expect(moved[0]?.notes).toEqual([]);
  expect(to.plan.services[0]?.plan.args).toEqual(kpro5.plan.services[0]?.plan.args);
});

test("of more cards it takes as many as it had, and names them", () => {
  const { to } = move(kpro5, emptyHost("other", 4));
  expect(to.config.services["qwen"]).toMatchObject({ tensorParallel: 2, gpus: ["card-0", "card-1"] });
});

test("two services one after another get cards of their own and a port of their own", () => {
  const target = move(kpro5, emptyHost("other", 4)).to;
  const twin = changed("kpro5", "kpro5", (config) => {
    Object.assign(config["services"]?.["qwen"] ?? {}, { servedModelName: "second" });
  });
  const { to, moved } = move(twin, target);
  expect(moved).toMatchObject([{ service: "qwen-2", cards: { cards: ["card-2", "card-3"] } }]);
  expect(to.config.services["qwen-2"]).toMatchObject({ enabled: true, port: 30001, conflictsWith: [] });
  // One model and one environment serve both.
  expect(Object.keys(to.config.models)).toEqual(["qwen36"]);
  expect(Object.keys(to.config.environments)).toEqual(["ml-env"]);
});

test("where all cards serve, it comes disabled and stops the other when it is started", () => {
  const twin = changed("kpro5", "kpro5", (config) => {
    Object.assign(config["services"]?.["qwen"] ?? {}, { servedModelName: "second" });
  });
  const { to, moved } = move(twin, kpro5);
  expect(to.config.services["qwen-2"]).toMatchObject({ enabled: false, conflictsWith: ["qwen"] });
  expect(moved[0]?.notes.join("\n")).toContain("is not enabled: its cards serve qwen");
});

test("a host whose cards are in no container gets the service's container, without address and name", () => {
  const bare = changed("other", "kpro5", (config) => {
    for (const key of ["containers", "environments", "models", "services"]) config[key] = {};
  });
  const { to, moved } = move(eightCards(), bare);
  expect(moved).toHaveLength(1);
  expect(to.config.containers["ml"]).toMatchObject({
    vmId: 129,
    gpus: ["a6000-0", "a6000-1"],
    network: { address: "unknown", gateway: "unknown" },
  });
});

test("what the target serves already is not taken a second time", () => {
  const first = move(kpro5, emptyHost("other", 4)).to;
  expect(move(kpro5, first).refused).toMatchObject([{ reasons: [{ id: "served-already" }] }]);
});

test("a host without cards takes nothing", () => {
  const none = changed("other", "kpro5", (config) => {
    for (const key of ["gpus", "containers", "environments", "models", "services"]) config[key] = {};
  });
  expect(move(kpro5, none).refused).toMatchObject([{ reasons: [{ id: "no-cards" }] }]);
});

test("an acknowledgement goes along only where its rule still fires", () => {
  const acknowledging = changed("kpro5", "kpro5", (config) => {
    Object.assign(config["services"]?.["qwen"] ?? {}, {
      acknowledge: [{ rule: "R28", reason: "not about this card at all" }],
    });
  });
  expect(move(acknowledging, emptyHost("other", 2)).to.config.services["qwen"]?.acknowledge).toEqual([]);
});

test("gives the same text every time", () => {
  expect(move(eightCards(), emptyHost("other", 2)).text).toBe(move(eightCards(), emptyHost("other", 2)).text);
});

test("a part of a server over several nodes is not taken away from the others", () => {
  const part = changed("kpro5", "kpro5", (config) => {
    const { address } = config["containers"]?.["ml"]?.["network"] as { address: string };
    const [service] = Object.values(config["services"] ?? {});
    Object.assign(service ?? {}, {
      nodes: { count: 2, rank: 0, address: address.split("/")[0] },
      tensorParallel: 4,
    });
  });
  expect(move(part, emptyHost("other", 4)).refused).toMatchObject([{ reasons: [{ id: "node-of-a-group" }] }]);
});
