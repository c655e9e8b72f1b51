import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

import { parse, stringify } from "yaml";

import { assess } from "../../../cli/findings";
import { stackFileOf } from "../../../cli/stack-argument";
import { PROJECT_DIRECTORY } from "../../../config/load";
import type { ResolvedService, StackConfig } from "../../../config/schema";
import { renderMonitoring } from "../../../plan/render/monitoring";
import type { StackPlan } from "../../../plan/stack";
import { describeWith } from "../../engine/support/requirement";
import { PROMTOOL_MISSING, promtool } from "./promtool";

function assessed(stack: string): { config: StackConfig; plan: StackPlan } {
  const { config, plan } = assess(stackFileOf(stack));
  if (config === undefined || plan === undefined) throw new Error(`${stack} is refused`);
  return { config, plan };
}

function monitoring(stack: string): Record<string, string> {
  const { config, plan } = assessed(stack);
  return renderMonitoring(config, plan);
}

/** The lab's files with its service changed. */
function withService(change: Partial<ResolvedService>): Record<string, string> {
  const { config, plan } = assessed("lab");
  const services = plan.services.map((entry) => ({ ...entry, service: { ...entry.service, ...change } }));
  return renderMonitoring(config, { ...plan, services });
}

/** The text of one probe's metrics, by the probe itself. */
function probeMetrics(state: string): string {
  const result = {
    service: "qwen",
    environmentDigest: "0123456789ab",
    healthy: state === "healthy",
    state,
    durationSeconds: 1.5,
    timestamp: 1_800_000_000,
    release: "0.5.11",
    servedModelName: 'a "quoted" name',
    unit: "sglang-qwen.service",
  };
  const program =
    "import json, sys; from sglang_probe import probe; print(probe.metrics(json.load(sys.stdin)), end='')";
  const { stdout, stderr } = spawnSync("python3", ["-B", "-c", program], {
    cwd: path.join(PROJECT_DIRECTORY, "scripts", "probe"),
    input: JSON.stringify(result),
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return stdout;
}

const typeLines = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );

interface Dashboard {
  readonly panels: { title: string; targets: { expr: string }[]; gridPos: Record<string, number> }[];
}

/** Every expression of a dashboard, with Grafana's variables filled in. */
function expressions(text: string): string[] {
  return (JSON.parse(text) as Dashboard).panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$service", ".*")),
  );
}

test.each(["lab", "example"])("%s: alerts and dashboard name only metrics that exist", (stack) => {
  const files = monitoring(stack);
  // What a real server of SGLang 0.5.11 offered, and what the probe writes.
  const real = typeLines(readFileSync(path.join(__dirname, "sglang-metrics.txt"), "utf8"));
  const known = new Set([...real, ...typeLines(probeMetrics("healthy"))]);
  const named = [
    ...(files["monitoring/alerts.yaml"] ?? "").split("\n"),
    ...expressions(files["monitoring/dashboard.json"] ?? ""),
  ]
    .flatMap((text) => [...text.matchAll(/\b(sglang:\w+|sglang_probe_\w+|proxmox_gpu_stack_\w+)(?=[{[])/g)])
    .map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("no panel of the dashboard lies on another", () => {
  const { panels } = JSON.parse(monitoring("lab")["monitoring/dashboard.json"] ?? "") as Dashboard;
  const cells = panels.flatMap(({ gridPos: { x = 0, y = 0, w = 0 } }) =>
    Array.from({ length: w }, (_, index) => `${x + index},${y}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const cell of cells) expect(Number(cell.split(",")[0])).toBeLessThan(24);
});

test.each([
  ["that is not enabled", { enabled: false }],
  ["without metrics", { metrics: false }],
  ["that only its own container reaches", { listen: "127.0.0.1" }],
] as const)("a stack whose only service is one %s has nothing to watch", (_what, change) => {
  expect(withService(change)).toEqual({});
});

test("a stack without addresses, and a retired one, have nothing to watch", () => {
  expect(monitoring("kpro5")).toEqual({});
  const { config, plan } = assessed("lab");
  expect(renderMonitoring({ ...config, retired: "2026-11-30" }, plan)).toEqual({});
});

test("a service that cannot be scraped is named with the reason, beside those that are", () => {
  const { config, plan } = assessed("lab");
  const [first] = plan.services;
  if (first === undefined) throw new Error("the lab has a service");
  const other = { ...first, name: "quiet", service: { ...first.service, name: "quiet", metrics: false } };
  const text = renderMonitoring(config, { ...plan, services: [other, first] })["monitoring/prometheus.yaml"];
  expect(text).toContain("#   quiet: has metrics: false\n");
  const { scrape_configs } = parse(text ?? "") as { scrape_configs: { static_configs: object[] }[] };
  expect(scrape_configs.map(({ static_configs }) => static_configs.length)).toEqual([1, 1]);
});

describeWith(PROMTOOL_MISSING, "Prometheus's own tool", () => {
  test.each(["lab", "example"])("accepts the scrapes of %s", (stack) => {
    const text = monitoring(stack)["monitoring/prometheus.yaml"] ?? "";
    const words = ["check", "config", "prometheus.yaml"];
    expect(promtool(words, { files: { "prometheus.yaml": text } })).toMatchObject({ status: 0 });
    const broken = text.replace("static_configs:", "static_config:");
    expect(promtool(words, { files: { "prometheus.yaml": broken } })).not.toMatchObject({ status: 0 });
  });

  test.each(["lab", "example"])("accepts the rules of %s", (stack) => {
    const text = monitoring(stack)["monitoring/alerts.yaml"] ?? "";
    const words = ["check", "rules", "--lint-fatal", "alerts.yaml"];
    expect(promtool(words, { files: { "alerts.yaml": text } })).toMatchObject({ status: 0 });
  });

  test("understands every expression of the dashboard", () => {
    const rules = expressions(monitoring("lab")["monitoring/dashboard.json"] ?? "").map((expr, index) => ({
      record: `panel:${index}`,
      expr,
    }));
    const text = stringify({ groups: [{ name: "dashboard", rules }] });
    const words = ["check", "rules", "rules.yaml"];
    expect(promtool(words, { files: { "rules.yaml": text } })).toMatchObject({ status: 0 });
  });

  test.each(["healthy", "degenerate", "starting"])("finds nothing in the metrics of a %s probe", (state) => {
    expect(promtool(["check", "metrics"], { input: probeMetrics(state) })).toEqual({ status: 0, output: "" });
  });
});
