/** Routers: what is refused before anything is done, and what follows from other keys. */
import { cpSync, mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import type { Problem } from "../../config/problems";
import { container, inspected, project, service } from "./support";

type Keys = Record<string, Record<string, unknown>>;

const LOCK = "sglang-router==0.3.2 \\\n    --hash=sha256:00\n";

/** A project with a lock of a router too. */
function routerProject(lock = LOCK): string {
  const directory = mkdtempSync(path.join(tmpdir(), "project-"));
  cpSync(project(), directory, { recursive: true });
  mkdirSync(path.join(directory, "environments/router"));
  writeFileSync(path.join(directory, "environments/router/requirements.lock"), lock);
  return directory;
}

/** Two containers with a service each, and a router in a third one. */
function withRouter(keys: Keys, changes: object = {}): void {
  keys["containers"] = {
    one: container({ gpus: ["left"] }),
    two: container({
      vmId: 130,
      gpus: ["right"],
      network: { address: "192.0.2.130/24", gateway: "192.0.2.1" },
    }),
    edge: container({ vmId: 131, gpus: [], network: { address: "192.0.2.131/24", gateway: "192.0.2.1" } }),
  };
  keys["environments"] = {
    "ml-one": { container: "one", lock: "sglang-0.5.11" },
    "ml-two": { container: "two", lock: "sglang-0.5.11" },
    "router-env": { container: "edge", lock: "router" },
  };
  keys["services"] = { a: service({ environment: "ml-one" }), b: service({ environment: "ml-two" }) };
  keys["routers"] = { front: { environment: "router-env", replicas: ["a", "b"], ...changes } };
}

function problems(
  changes: object,
  more: (keys: Keys) => void = () => undefined,
  lock = LOCK,
): readonly Problem[] {
  return inspected(
    (keys) => {
      withRouter(keys, changes);
      more(keys);
    },
    { projectDirectory: routerProject(lock) },
  ).problems.filter(({ severity }) => severity === "error");
}

const set = (key: string, name: string, changes: object) => (keys: Keys) => {
  Object.assign(keys[key]?.[name] as object, changes);
};

test("a router in front of two services knows their addresses and their model", () => {
  const directory = routerProject();
  const { config } = inspected((keys) => withRouter(keys), { projectDirectory: directory });
  expect(config?.routers["front"]).toMatchObject({
    unit: "sglang-front.service",
    container: "edge",
    servedModelName: "qwen",
    replicas: [
      { service: "a", url: "http://192.0.2.129:30000" },
      { service: "b", url: "http://192.0.2.130:30000" },
    ],
  });
});

test("replicas of other stacks are addresses, taken as they are", () => {
  const changes = { replicas: ["a", "http://192.0.2.77:30001"] };
  const { config } = inspected((keys) => withRouter(keys, changes), { projectDirectory: routerProject() });
  expect(config?.routers["front"]?.replicas[1]).toEqual({
    service: undefined,
    url: "http://192.0.2.77:30001",
  });
});

const REFUSED: [string, object, (keys: Keys) => void, string, string, RegExp][] = [
  [
    "a replica that is no service",
    { replicas: ["a", "c"] },
    () => undefined,
    "unknown-name",
    "replicas[1]",
    /a or b/,
  ],
  [
    "a replica twice",
    { replicas: ["a", "a"] },
    () => undefined,
    "replica-twice",
    "replicas[1]",
    /replicas\[0\] too/,
  ],
  ["no replica", { replicas: [] }, () => undefined, "wrong-value", "replicas", /at least one replica/],
  [
    "a path in an address",
    { replicas: ["http://x:1/v1"] },
    () => undefined,
    "wrong-value",
    "replicas[0]",
    /http:\/\/HOST:PORT/,
  ],
  ["a policy that nobody knows", { policy: "best" }, () => undefined, "wrong-value", "policy", /cache_aware/],
  [
    "a model, which only replicas have",
    { model: "qwen" },
    () => undefined,
    "unknown-key",
    "model",
    /replicas/,
  ],
  [
    "replicas of two models",
    {},
    set("services", "b", { servedModelName: "kimi" }),
    "replicas-differ",
    "replicas",
    /qwen or kimi/,
  ],
  [
    "another model than the replicas'",
    { servedModelName: "kimi" },
    () => undefined,
    "replicas-differ",
    "replicas",
    /kimi or qwen/,
  ],
  [
    "addresses alone without a model name",
    { replicas: ["http://192.0.2.77:30000"] },
    () => undefined,
    "replica-model-unknown",
    "servedModelName",
    /do not tell it/,
  ],
  [
    "a replica that is not enabled",
    {},
    set("services", "a", { enabled: false }),
    "replica-not-enabled",
    "replicas[0]",
    /never find it/,
  ],
  [
    "a replica that only its own container reaches",
    {},
    set("services", "a", { listen: "127.0.0.1" }),
    "replica-hidden",
    "replicas[0]",
    /another container/,
  ],
  [
    "an environment without a router",
    { environment: "ml-one" },
    () => undefined,
    "router-release",
    "environment",
    /holds no sglang-router/,
  ],
  [
    "the port of a service in the same container",
    { port: 30000 },
    set("environments", "router-env", { container: "one", path: "/opt/router-env" }),
    "duplicate-port",
    "port",
    /services\.a\.port/,
  ],
  [
    "one port for clients and metrics",
    { port: 29000 },
    () => undefined,
    "duplicate-port",
    "metricsPort",
    /front\.port/,
  ],
];

test.each(REFUSED)("%s is refused", (_, changes, more, id, field, message) => {
  expect(problems(changes, more)).toMatchObject([
    {
      id,
      path: `proxmox-gpu-stack:routers.front.${field}`,
      message: expect.stringMatching(message) as string,
    },
  ]);
});

test("a router and a service with one name are refused: their units would be one file", () => {
  const found = problems({}, (keys) => {
    const { front } = keys["routers"] as Keys;
    keys["routers"] = { a: front };
  });
  expect(found.map(({ id }) => id)).toEqual(["duplicate-name"]);
});

test("a release that nobody tried, or that does not know the policy, is refused", () => {
  expect(problems({}, undefined, "sglang-router==0.2.0 \\\n")).toMatchObject([
    { id: "router-release", message: expect.stringContaining("0.3.0, 0.3.1") as string },
  ]);
  expect(problems({ policy: "manual" }, undefined, "sglang-router==0.3.0 \\\n")).toMatchObject([
    { id: "router-policy", path: "proxmox-gpu-stack:routers.front.policy" },
  ]);
  expect(problems({ policy: "manual" })).toEqual([]);
});
