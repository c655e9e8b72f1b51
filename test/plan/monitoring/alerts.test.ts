/** Each alert against made-up series, by Prometheus's own rule tester: when it fires, and when it must not. */
import { parse, stringify } from "yaml";

import { assess } from "../../../cli/findings";
import { stackFileOf } from "../../../cli/stack-argument";
import { renderMonitoring } from "../../../plan/render/monitoring";
import { describeWith } from "../../engine/support/requirement";
import { PROMTOOL_MISSING, promtool } from "./promtool";

const { config, plan } = assess(stackFileOf("lab"));
if (config === undefined || plan === undefined) throw new Error("the lab's stack is refused");
const RULES = renderMonitoring(config, plan)["monitoring/alerts.yaml"] ?? "";

const TARGET = 'stack="lab",host="pve1",container="ml"';
const up = (values: string): object => ({
  series: `up{job="sglang-lab",${TARGET},service="qwen",instance="10.77.0.129:30000"}`,
  values,
});
const state = (name: string, values: string): object => ({
  series: `sglang_probe_state{${TARGET},service="qwen",environment="ab12",state="${name}"}`,
  values,
});
const timestamp = (values: string): object => ({
  series: `sglang_probe_timestamp_seconds{${TARGET},service="qwen",environment="ab12"}`,
  values,
});
const queue = (values: string): object => ({
  series: `sglang:num_queue_reqs{${TARGET},service="qwen",model_name="qwen3.6-tiny",tp_rank="0"}`,
  values,
});

type Labels = Readonly<Record<string, string>>;

/** Whether exactly the given alerts of one name fire at a minute; with labels without their texts. */
function outcome(alert: string, minute: number, series: readonly object[], fires: boolean): string {
  const { groups } = parse(RULES) as { groups: { rules: { alert: string; annotations?: object }[] }[] };
  // The texts are not compared here: promtool would want each to the letter.
  for (const rule of groups.flatMap(({ rules }) => rules)) delete rule.annotations;
  const expected: { exp_labels: Labels }[] = fires ? [{ exp_labels: LABELS[alert] ?? {} }] : [];
  const tests = {
    rule_files: ["alerts.yaml"],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: series,
        alert_rule_test: [{ eval_time: `${minute}m`, alertname: alert, exp_alerts: expected }],
      },
    ],
  };
  const files = { "alerts.yaml": stringify({ groups }), "tests.yaml": stringify(tests) };
  const { status, output } = promtool(["test", "rules", "tests.yaml"], { files });
  return status === 0 ? "as expected" : output;
}

const SERVER = {
  job: "sglang-lab",
  stack: "lab",
  host: "pve1",
  container: "ml",
  service: "qwen",
  instance: "10.77.0.129:30000",
};
const SERVICE = { stack: "lab", host: "pve1", service: "qwen" };
const LABELS: Readonly<Record<string, Labels>> = {
  SglangServiceDown: { ...SERVER, severity: "critical" },
  SglangProbeUnhealthy: {
    ...SERVICE,
    container: "ml",
    environment: "ab12",
    state: "degenerate",
    severity: "critical",
  },
  SglangQueueGrowing: { ...SERVICE, severity: "warning" },
  SglangProbeStale: { ...SERVICE, severity: "warning" },
  SglangProbeMissing: { ...SERVER, severity: "warning" },
};

describeWith(PROMTOOL_MISSING, "an alert", () => {
  test.each([
    ["SglangServiceDown", "after five minutes without an answer", 7, [up("1 0x20")], true],
    ["SglangServiceDown", "for a restart of two minutes", 10, [up("1 1 0 0 1x20")], false],
    ["SglangProbeUnhealthy", "for degenerate texts", 3, [state("degenerate", "0 1x10")], true],
    ["SglangProbeUnhealthy", "for a server that still loads", 8, [state("starting", "1x10")], false],
    ["SglangProbeUnhealthy", "once the next probe is well", 8, [state("degenerate", "1 1 1 0x10")], false],
    ["SglangQueueGrowing", "for a queue that grows for long", 20, [queue("0+2x30")], true],
    ["SglangQueueGrowing", "for a long queue that shrinks", 20, [queue("100-2x30")], false],
    [
      "SglangQueueGrowing",
      "for a queue that empties now and then",
      20,
      [queue("0 4 8 0 4 8 0+3x4 0 4 8 12 0 4 8 9 9")],
      false,
    ],
    // The probe of minute 0 is three intervals of five minutes old after minute 15.
    ["SglangProbeStale", "for a probe of three intervals ago", 18, [timestamp("0x30")], true],
    ["SglangProbeStale", "for a probe of two intervals ago", 10, [timestamp("0x30")], false],
    ["SglangProbeMissing", "for a server of whose probe nothing is known", 16, [up("1x30")], true],
    ["SglangProbeMissing", "where the probe tells", 16, [up("1x30"), timestamp("0x30")], false],
    ["SglangProbeMissing", "for a server that is down anyway", 16, [up("0x30")], false],
  ] as const)("%s %s, at minute %d", (alert, _when, minute, series, fires) => {
    expect(outcome(alert, minute, series, fires)).toBe("as expected");
  });
});
