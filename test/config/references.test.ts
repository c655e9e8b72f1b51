import { container, inspected, problemsAfter, service, stack } from "./support";

type Keys = ReturnType<typeof stack>;

/** Sets a value below a path of the sample. */
function set(path: string, value: unknown): (keys: Keys) => void {
  return (keys) => {
    const segments = path.split(".");
    const last = segments.pop() as string;
    let parent = keys as Record<string, unknown>;
    for (const segment of segments) parent = parent[segment] as Record<string, unknown>;
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  };
}

function second(changes: object): Record<string, unknown> {
  return container({
    vmId: 130,
    network: { address: "192.0.2.130/24", gateway: "192.0.2.1" },
    gpus: [],
    ...changes,
  });
}

test("the sample has no problems", () => {
  expect(problemsAfter(() => undefined)).toEqual([]);
});

test.each<[string, (keys: Keys) => void, string, string, RegExp]>([
  [
    "a card without identity",
    set("gpus.left", { model: "rtx-a6000" }),
    "gpu-identity",
    "gpus.left",
    /either uuid or pci/,
  ],
  [
    "a card with two identities",
    set("gpus.left", {
      model: "rtx-a6000",
      uuid: "GPU-11111111-2222-3333-4444-555555555555",
      pci: "0000:41:00.0",
    }),
    "gpu-identity",
    "gpus.left",
    /both uuid and pci/,
  ],
  [
    "a card of no inventory",
    set("containers.ml.gpus", ["left", "rigth"]),
    "unknown-name",
    "containers.ml.gpus[1]",
    /must be an entry of gpus: left or right/,
  ],
  [
    "a card twice in a container",
    set("containers.ml.gpus", ["left", "left"]),
    "gpu-twice",
    "containers.ml.gpus[1]",
    /already/,
  ],
  [
    "a card in two containers",
    set("containers.other", second({ gpus: ["left"] })),
    "gpu-shared",
    "containers.other.gpus",
    /belongs to the container ml/,
  ],
  [
    "a container id twice",
    set("containers.other", second({ vmId: 129 })),
    "duplicate-vmid",
    "containers.other.vmId",
    /containers\.ml\.vmId/,
  ],
  [
    "an address twice",
    set("containers.other", second({ network: { address: "192.0.2.129/24", gateway: "192.0.2.1" } })),
    "duplicate-address",
    "containers.other.network.address",
    /containers\.ml\.network\.address/,
  ],
  [
    "the host's address in a container",
    set("containers.ml.network.address", "192.0.2.5/24"),
    "duplicate-address",
    "containers.ml.network.address",
    /host\.address/,
  ],
  [
    "a gateway outside of the network",
    set("containers.ml.network.gateway", "198.51.100.1"),
    "gateway-outside",
    "containers.ml.network.gateway",
    /192\.0\.2\.129\/24/,
  ],
  [
    "a mount target twice",
    set("containers.ml.mounts", [
      { source: "/srv/models", target: "/models" },
      { source: "/srv/more", target: "/models" },
    ]),
    "duplicate-mount",
    "containers.ml.mounts[1].target",
    /mounts\[0\]\.target/,
  ],
  [
    "an environment in no container",
    set("environments.ml-env.container", "mll"),
    "unknown-name",
    "environments.ml-env.container",
    /must be an entry of containers: ml/,
  ],
  [
    "two environments in one place",
    set("environments.second", { container: "ml", lock: "sglang-0.5.11" }),
    "duplicate-path",
    "environments.second.path",
    /environment ml-env/,
  ],
  [
    "a lock that is not there",
    set("environments.ml-env.lock", "sglang-0.5.12"),
    "unknown-lock",
    "environments.ml-env.lock",
    /sglang-0\.5\.11/,
  ],
  [
    "a service on no environment",
    set("services.chat.environment", "x"),
    "unknown-name",
    "services.chat.environment",
    /environments/,
  ],
  [
    "a service with no model",
    set("services.chat.model", "qwem"),
    "unknown-name",
    "services.chat.model",
    /models: qwen/,
  ],
  [
    "a conflict with nobody",
    set("services.chat.conflictsWith", ["talk"]),
    "unknown-name",
    "services.chat.conflictsWith[0]",
    /services: chat/,
  ],
  [
    "a conflict with itself",
    set("services.chat.conflictsWith", ["chat"]),
    "self-conflict",
    "services.chat.conflictsWith[0]",
    /itself/,
  ],
  [
    "a hand-made unit of the name of its own",
    set("services.chat.replaces", "sglang-chat.service"),
    "replaces-own-unit",
    "services.chat.replaces",
    /its file would be overwritten/,
  ],
  [
    "a hand-made unit of the name of another service's",
    (keys) => {
      keys["services"] = {
        chat: service({ replaces: "sglang-talk.service" }),
        talk: service({ enabled: false, conflictsWith: ["chat"] }),
      };
    },
    "replaces-own-unit",
    "services.chat.replaces",
    /of the service talk/,
  ],
  [
    "a service on cards of another container",
    set("containers.ml.gpus", ["left"]),
    "gpu-not-in-container",
    "services.chat.gpus[1]",
    /must be a card of the container ml: left/,
  ],
  [
    "more ranks than cards",
    set("services.chat.tensorParallel", 4),
    "too-few-gpus",
    "services.chat.tensorParallel",
    /at most 2/,
  ],
  [
    "a container without cards",
    set("containers.ml.gpus", []),
    "service-without-gpu",
    "services.chat",
    /no cards/,
  ],
  [
    "a model that no mount reaches",
    set("containers.ml.mounts", []),
    "model-not-mounted",
    "models.qwen.path",
    /mounted: none/,
  ],
  [
    "a mount that only looks like a prefix",
    set("containers.ml.mounts", [{ source: "/srv/mod", target: "/m" }]),
    "model-not-mounted",
    "models.qwen.path",
    /srv\/mod/,
  ],
  [
    "a model whose own folder is mounted",
    set("containers.ml.mounts", [{ source: "/srv/models/qwen", target: "/models/qwen" }]),
    "model-mounted-itself",
    "models.qwen.path",
    /a new revision takes its place by renaming/,
  ],
  [
    "a release that differs from the lock",
    set("services.chat.release", "0.5.12"),
    "release-differs",
    "services.chat.release",
    /0\.5\.11/,
  ],
  [
    "eagle3 without a draft model",
    set("services.chat.speculative", { algorithm: "eagle3", steps: 3, topk: 1 }),
    "draft-model",
    "services.chat.speculative.draftModel",
    /is missing/,
  ],
  [
    "nextn with a draft model",
    set("services.chat.speculative", { algorithm: "nextn", steps: 3, topk: 1, draftModel: "qwen" }),
    "draft-model",
    "services.chat.speculative.draftModel",
    /takes no draft model/,
  ],
  [
    "a user that cannot enter /root",
    set("environments.ml-env.path", "/root/ml-env"),
    "user-cannot-read",
    "services.chat.user",
    /only root may/,
  ],
  [
    "a secret in the environment",
    set("services.chat.env", { HF_TOKEN: "hf_x" }),
    "secret-in-structure",
    "services.chat.env.HF_TOKEN",
    /looks like a secret/,
  ],
  [
    "a secret as an argument",
    set("services.chat.extraArgs", ["--api-key=x"]),
    "secret-in-structure",
    "services.chat.extraArgs[0]",
    /command line/,
  ],
  [
    "a file of arguments",
    set("services.chat.extraArgs", ["--config", "/etc/x.yaml"]),
    "hidden-arguments",
    "services.chat.extraArgs[0]",
    /hides arguments/,
  ],
  [
    "a service named like a probe",
    set("services.chat-probe", service({ enabled: false, conflictsWith: ["chat"] })),
    "reserved-name",
    "services.chat-probe",
    /-probe/,
  ],
])("%s is refused", (name, change, id, place, message) => {
  const changed = (keys: Keys): void => {
    change(keys);
    if (name.startsWith("a service on cards")) set("services.chat.gpus", ["left", "right"])(keys);
  };
  const problems = problemsAfter(changed);
  expect(problems).toContainEqual(
    expect.objectContaining({
      id,
      severity: "error",
      path: `proxmox-gpu-stack:${place}`,
      message: expect.stringMatching(message) as string,
      fix: expect.stringMatching(/.{5}/) as string,
    }),
  );
  // One mistake is one problem, not a chain of them.
  expect(problems.map((problem) => problem.path)).toEqual([`proxmox-gpu-stack:${place}`]);
});

test("a secret's value is in no problem", () => {
  const problems = problemsAfter((keys) => {
    set("services.chat.env", { HF_TOKEN: "hf_hidden" })(keys);
    set("services.chat.extraArgs", ["--api-key=hidden"])(keys);
    set("host.password", "hidden")(keys);
  });
  expect(problems).toHaveLength(3);
  expect(JSON.stringify(problems)).not.toContain("hidden");
});

test("two containers may share a card when both say so", () => {
  const share = (both: boolean) => (keys: Keys) => {
    keys.containers = {
      ml: container({ shared: true }),
      other: second({ gpus: ["left"], shared: both }),
    };
  };
  expect(problemsAfter(share(true))).toEqual([]);
  expect(problemsAfter(share(false)).map((problem) => problem.id)).toEqual(["gpu-shared"]);
});

describe("two services of one container", () => {
  const two = (chat: object, talk: object) => (keys: Keys) => {
    keys.services = { chat: service(chat), talk: service(talk) };
  };

  test("may not share cards or a port without a conflict", () => {
    expect(problemsAfter(two({}, {})).map((problem) => problem.id)).toEqual([
      "duplicate-port",
      "gpu-conflict",
    ]);
  });

  test("may share both when one stops the other, whichever says so", () => {
    expect(problemsAfter(two({}, { enabled: false, conflictsWith: ["chat"] }))).toEqual([]);
    const { config } = inspected(two({ conflictsWith: ["talk"] }, { enabled: false }));
    expect(config?.services["talk"]?.conflictsWith).toEqual(["chat"]);
  });

  test("that conflict may not both be enabled", () => {
    for (const [chat, talk] of [
      [{ conflictsWith: ["talk"] }, {}],
      [{}, { conflictsWith: ["chat"] }],
    ] as const) {
      const problems = problemsAfter(two(chat, talk));
      expect(problems).toMatchObject([
        { id: "both-enabled", severity: "error", path: "proxmox-gpu-stack:services.talk.enabled" },
      ]);
      expect(problems[0]?.fix).toContain("services.talk.enabled' false");
    }
  });

  test("share cards and a port only with a conflict, also when one is not enabled", () => {
    expect(problemsAfter(two({}, { enabled: false })).map((problem) => problem.id)).toEqual([
      "duplicate-port",
      "gpu-conflict",
    ]);
  });

  test("may run side by side on their own cards and ports", () => {
    expect(problemsAfter(two({ gpus: ["left"] }, { gpus: ["right"], port: 30001 }))).toEqual([]);
  });

  test("need UUIDs for a part of the cards", () => {
    const problems = problemsAfter((keys) => {
      set("gpus.left", { model: "rtx-a6000", pci: "0000:41:00.0" })(keys);
      set("services.chat.gpus", ["left"])(keys);
    });
    expect(problems.map((problem) => problem.id)).toEqual(["gpu-needs-uuid"]);
  });
});

test("a mistake in one entry does not hide one in another, nor a reference to a broken entry", () => {
  const problems = problemsAfter((keys) => {
    set("containers.ml.cores", 0)(keys);
    set("services.chat.servedModelName", "a:b")(keys);
    set("services.talk", service({ environment: "nowhere", gpus: ["left"], conflictsWith: ["chat"] }))(keys);
  });
  expect(problems.map((problem) => problem.path).sort()).toEqual([
    "proxmox-gpu-stack:containers.ml.cores",
    "proxmox-gpu-stack:services.chat.servedModelName",
    "proxmox-gpu-stack:services.talk.environment",
  ]);
});
