import { readFileSync } from "node:fs";
import path from "node:path";

import { assess } from "../../../cli/findings";
import { statusFacts, statusStep, type ServiceState, type StatusFacts } from "../../../cli/status/facts";
import { statusReport, type StatusReport } from "../../../cli/status/report";
import { statusText } from "../../../cli/status/text";
import { PROJECT_DIRECTORY } from "../../../config/load";

const { config, plan } = (() => {
  const assessed = assess(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"));
  if (assessed.config === undefined || assessed.plan === undefined)
    throw new Error("the lab's stack is refused");
  return { config: assessed.config, plan: assessed.plan };
})();

/** Facts as a lab host reported them, healthy. */
function recorded(): StatusFacts {
  const text = readFileSync(path.join(__dirname, "fixtures", "healthy.json"), "utf8");
  return statusFacts(JSON.parse(text) as Record<string, unknown>);
}

/** The recorded facts with another state of the service. */
function withService(change: Partial<ServiceState>): StatusFacts {
  const facts = recorded();
  return { ...facts, services: facts.services.map((service) => ({ ...service, ...change })) };
}

/** The recorded result of the probe, changed. */
function probe(change: Record<string, unknown>): string {
  const [service] = recorded().services;
  return JSON.stringify({ ...(JSON.parse(service?.probe ?? "") as object), ...change });
}

const report = (facts: StatusFacts): StatusReport => statusReport(config, plan, facts);
const messages = (facts: StatusFacts): string[] => report(facts).problems.map(({ message }) => message);

test("a healthy stack has no problem, and every part is told", () => {
  const { host, gpus, containers, services, problems } = report(recorded());
  expect(problems).toEqual([]);
  expect(host).toMatchObject({ node: "pve1", driver: "580.105.08" });
  expect(gpus.map(({ name, present, node, users }) => ({ name, present, node, users }))).toEqual([
    { name: "a6000-0", present: true, node: "/dev/nvidia0", users: ["129"] },
    { name: "a6000-1", present: true, node: "/dev/nvidia1", users: ["129"] },
  ]);
  for (const { memoryUsedMiB, memoryTotalMiB } of gpus) {
    expect(memoryUsedMiB).toBeGreaterThan(0);
    expect(memoryTotalMiB).toBeGreaterThan(memoryUsedMiB ?? 0);
  }
  expect(containers).toEqual([{ name: "ml", id: 129, state: "running", address: "10.77.0.129" }]);
  expect(services).toMatchObject([
    { name: "qwen", unit: "sglang-qwen.service", state: "active", restarts: 0, probe: { state: "healthy" } },
  ]);
});

test("answers that loop are a problem, with what the probe saw", () => {
  const found = probe({
    state: "degenerate",
    healthy: false,
    reasons: ["repeat: says a sentence again and again"],
  });
  expect(messages(withService({ probe: found }))).toEqual([
    expect.stringMatching(
      /^qwen: the probe .* ago says degenerate: repeat: says a sentence again and again$/,
    ),
  ]);
});

test.each(["limited", "unreachable", "starting", "stopped"])("a probe that says %s is a problem", (state) => {
  expect(messages(withService({ probe: probe({ state, reasons: [] }) }))).toEqual([
    expect.stringMatching(new RegExp(`^qwen: the probe .* ago says ${state}$`)),
  ]);
});

test("a probe may be three intervals old, not older", () => {
  const { clock } = recorded();
  expect(messages(withService({ probe: probe({ timestamp: clock - 15 * 60 }) }))).toEqual([]);
  expect(messages(withService({ probe: probe({ timestamp: clock - 15 * 60 - 1 }) }))).toEqual([
    "qwen: the last probe is 15 min old, one comes every 5 minutes",
  ]);
});

test("no probe yet is fine for a service that has just started, and a problem later", () => {
  const { clock } = recorded();
  expect(messages(withService({ probe: "", since: String(clock - 60) }))).toEqual([]);
  expect(messages(withService({ probe: "", since: String(clock - 3600) }))).toEqual([
    "qwen: the repeated probe never ran",
  ]);
});

test("a probe's file without a result is a problem", () => {
  expect(messages(withService({ probe: "{" }))).toEqual([expect.stringContaining("unreadable")]);
});

test("a stopped unit is a problem, told once", () => {
  const stopped = withService({ state: "failed", probe: probe({ state: "unreachable" }) });
  expect(messages(stopped)).toEqual(["qwen: sglang-qwen.service is failed"]);
});

test("a service that is not enabled may be stopped", () => {
  const services = plan.services.map((one) => ({ ...one, service: { ...one.service, enabled: false } }));
  const facts = withService({ state: "inactive", probe: probe({ state: "stopped" }) });
  expect(statusReport(config, { ...plan, services }, facts).problems).toEqual([]);
});

test("a card that the driver does not tell of is missing", () => {
  const facts = recorded();
  const less = { ...facts, cards: facts.cards.slice(1) };
  expect(messages(less)).toEqual([
    expect.stringMatching(/^a6000-0: the driver does not tell of GPU-3c1f7a52/),
  ]);
  expect(messages({ ...less, driver: "", cards: [] })[1]).toContain("driver is not loaded");
});

test("a card by its address is found by it", () => {
  const facts = recorded();
  const pci = facts.cards[1]?.pci ?? "";
  const byAddress = { ...config, gpus: { card: { model: "rtx-a6000", pci } } };
  expect(statusReport(byAddress, plan, facts).gpus).toMatchObject([{ present: true, node: "/dev/nvidia1" }]);
});

test.each(["stopped", "missing"])(
  "a container that is %s is one problem, its services are unknown",
  (state) => {
    const facts = recorded();
    const containers = facts.containers.map((container) => ({ ...container, state }));
    const { problems, services } = report({ ...facts, containers, services: [] });
    expect(problems.map(({ message }) => message)).toEqual([`ml: container 129 is ${state}`]);
    expect(services).toMatchObject([{ state: "unknown", probe: null, gate: "unknown" }]);
  },
);

test("a service that a running container does not tell of is a problem", () => {
  expect(messages({ ...recorded(), services: [] })).toEqual(["qwen: sglang-qwen.service is unknown"]);
});

test("the gate is passed by what is declared, by something earlier, or by nothing", () => {
  const declared = plan.services[0]?.step.args.gate ?? "";
  const gate = (good: string) => report(withService({ good })).services[0]?.gate;
  expect([gate(`${declared}\n`), gate("0123456789ab"), gate("")]).toEqual([
    "passed",
    "passed earlier",
    "not passed",
  ]);
});

test("the text shows every part, and problems with their way out last", () => {
  const text = statusText([
    { stack: "lab", report: report(withService({ state: "failed", environment: "/opt/x/0123456789ab" })) },
  ]);
  expect(text).toMatch(/^pve1: kernel .*, up for .*, driver 580\.105\.08\n/);
  expect(text).toMatch(/│ a6000-0 .*\/dev\/nvidia0 .* MiB .*│ 129 /);
  expect(text).toMatch(/│ ml +│ 129 +│ running +│ 10\.77\.0\.129 +│/);
  expect(text).toMatch(/│ qwen +│ failed for .*│ 0123456789ab \(not as declared\) │/);
  expect(text.split("\n").slice(-2)).toEqual([
    "qwen: sglang-qwen.service is failed",
    expect.stringMatching(/^ {2}fix: .*recover lab qwen$/),
  ]);
});

test("the step names the stack's containers and services", () => {
  expect(statusStep(config, plan).args).toEqual({ containers: "129", services: "129:qwen:/opt/ml-env" });
});
