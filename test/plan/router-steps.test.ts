/** A router's step and files, from Pulumi.example.yaml: one replica of its stack, one of another. */
import path from "node:path";

import { loadStackFile, PROJECT_DIRECTORY } from "../../config/load";
import type { ResolvedRouter, StackConfig } from "../../config/schema";
import { drainSteps } from "../../plan/decommission";
import { recoverStep } from "../../plan/recover-step";
import { renderStack } from "../../plan/render/stack";
import type { RouterPlan } from "../../plan/router-steps";
import { allSteps, planStack } from "../../plan/stack";

const example = loadStackFile(path.join(PROJECT_DIRECTORY, "Pulumi.example.yaml"));

function changed(changes: Partial<ResolvedRouter>, more: Partial<StackConfig> = {}): StackConfig {
  const front = example.routers["front"];
  if (front === undefined) throw new Error("the example has no router front");
  return { ...example, ...more, routers: { front: { ...front, ...changes } } };
}

function planned(config = example): RouterPlan {
  const [router] = planStack(config, PROJECT_DIRECTORY).routers;
  if (router === undefined) throw new Error("no router was planned");
  return router;
}

const text = (router: RouterPlan, file: string): string => router.step.texts[file] ?? "";
const unit = (router: RouterPlan): string => text(router, "/etc/systemd/system/sglang-front.service");
const specification = (router: RouterPlan): Record<string, unknown> =>
  JSON.parse(text(router, "/etc/proxmox-gpu-stack/services/front/specification.json")) as Record<
    string,
    unknown
  >;

test("the router is told its replicas, its policy and its ports, and shows them in a preview", () => {
  expect(planned().step.args["arguments"]).toMatch(
    /^--worker-urls http:\/\/192\.0\.2\.129:30000 http:\/\/192\.0\.2\.131:30000 --host 0\.0\.0\.0 --port 8000 --policy cache_aware /,
  );
});

test("it comes after its stack's services, and starts after those of its own container", () => {
  const names = allSteps(planStack(example, PROJECT_DIRECTORY)).map(({ name }) => name);
  expect(names.indexOf("front-service")).toBeGreaterThan(names.indexOf("qwen-service"));
  expect(unit(planned())).toContain("After=network-online.target sglang-qwen.service\n");
});

test("the gate asks for every replica and the model's name, and touches no card", () => {
  expect(specification(planned())).toMatchObject({
    url: "http://127.0.0.1:8000",
    servedModelName: "qwen3.6-27b",
    replicas: ["http://192.0.2.129:30000", "http://192.0.2.131:30000"],
  });
  expect(specification(planned())).not.toHaveProperty("gpus");
});

test("another replica restarts the router, a longer deadline only repeats the gate", () => {
  const before = planned().step.args;
  const replicas = [{ service: undefined, url: "http://192.0.2.140:30000" }];
  expect(planned(changed({ replicas })).step.args["restart"]).not.toBe(before["restart"]);
  const patient = planned(changed({ startTimeoutMinutes: 60 })).step.args;
  expect(patient["restart"]).toBe(before["restart"]);
  expect(patient["gate"]).not.toBe(before["gate"]);
});

test("an API key is in no unit and no command line: the launcher reads it from the unit's credential", () => {
  const router = planned(changed({}, { secrets: ["serviceApiKey"] }));
  expect(unit(router)).toContain("LoadCredential=api-key:/etc/proxmox-gpu-stack/services/front/api-key\n");
  expect(unit(router)).toContain(
    "ExecStart=/opt/router-env/bin/python3 /usr/local/lib/proxmox-gpu-stack/launch_router.py /run/credentials/sglang-front.service/api-key \\\n",
  );
  expect(unit(router)).not.toContain("--api-key");
  expect(specification(router)["apiKeyFile"]).toBe("/etc/proxmox-gpu-stack/services/front/api-key");
  expect(unit(planned())).not.toContain("credential");
});

test("the stack's monitoring scrapes it and counts its replicas", () => {
  const files = renderStack(example, planStack(example, PROJECT_DIRECTORY));
  expect(files["monitoring/prometheus.yaml"]).toContain("- 192.0.2.129:29000");
  expect(files["monitoring/alerts.yaml"]).toContain(
    'sum by (stack, host, service) (smg_worker_health{stack="example",service="front"}) < 2',
  );
  expect(files["monitoring/alerts.yaml"]).toContain(
    'up{job="sglang-router-example",service="front"} == 1 unless',
  );
});

test("the picture shows replicas of other stacks as such", () => {
  const topology = renderStack(example, planStack(example, PROJECT_DIRECTORY))["topology.md"];
  expect(topology).toContain('remote0["http://192.0.2.131:30000<br/>another stack"]');
  expect(topology).toContain("router0 -->|replica| service0");
});

test("a stack's services are drained behind its routers, and a recovery looks for no cards", () => {
  const plan = planStack(example, PROJECT_DIRECTORY);
  expect(drainSteps(example, plan).map(({ name }) => name)).toEqual(["front-stop", "qwen-stop"]);
  expect(recoverStep(example, planned()).args).toMatchObject({ name: "front", cards: "", freeMiB: "" });
});
