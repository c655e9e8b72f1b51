import type { Monitoring } from "./targets";

interface Query {
  readonly expr: string;
  /** Text of the legend, with `{{label}}`. */
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly type: "timeseries" | "stat";
  /** Unit of Grafana. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Of 24 columns. */
  readonly width: number;
}

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const HEIGHT = 8;
const COLUMNS = 24;

function quantiles(metric: string, selector: string): Query[] {
  return [50, 95].map((percent) => ({
    expr: `histogram_quantile(${percent / 100}, sum by (service, le) (rate(${metric}_bucket{${selector}}[$__rate_interval])))`,
    legend: `{{service}} p${percent}`,
  }));
}

function panels({ stack, jobs }: Monitoring): Panel[] {
  const all = `stack="${stack}",service=~"$service"`;
  const gauge = (metric: string): string => `max by (service) (${metric}{${all}})`;
  const rate = (metric: string): string => `sum by (service) (rate(${metric}{${all}}[$__rate_interval]))`;
  const service = (expr: string): Query[] => [{ expr, legend: "{{service}}" }];
  return [
    {
      title: "Endpoint answers",
      description: "1: /metrics answers. A stuck scheduler does not show here; see the probe.",
      type: "stat",
      unit: "bool_yes_no",
      queries: service(`up{job="${jobs.server}",service=~"$service"}`),
      width: 6,
    },
    {
      title: "Last probe",
      description:
        "What the repeated semantic probe found: healthy, degenerate, limited, unreachable, starting, stopped.",
      type: "stat",
      unit: "bool_yes_no",
      queries: [{ expr: `sglang_probe_state{${all}} == 1`, legend: "{{service}}: {{state}}" }],
      width: 6,
    },
    {
      title: "Age of the last probe",
      description: "Older than three of its intervals: its timer does not run.",
      type: "stat",
      unit: "s",
      queries: service(`time() - ${gauge("sglang_probe_timestamp_seconds")}`),
      width: 6,
    },
    {
      title: "Environment",
      description: "Digest of the environment that each service was started from, and its SGLang release.",
      type: "stat",
      unit: "none",
      queries: [
        {
          expr: `proxmox_gpu_stack_environment_info{${all}}`,
          legend: "{{service}}: {{environment}}, SGLang {{release}}",
        },
      ],
      width: 6,
    },
    {
      title: "Requests",
      description: "Requests that are computed, and those that wait.",
      type: "timeseries",
      unit: "short",
      queries: [
        { expr: gauge("sglang:num_running_reqs"), legend: "{{service}} running" },
        { expr: gauge("sglang:num_queue_reqs"), legend: "{{service}} waiting" },
      ],
      width: 12,
    },
    {
      title: "Tokens per second",
      description: "Read (prompts) and written (answers).",
      type: "timeseries",
      unit: "short",
      queries: [
        { expr: rate("sglang:prompt_tokens_total"), legend: "{{service}} read" },
        { expr: rate("sglang:generation_tokens_total"), legend: "{{service}} written" },
      ],
      width: 12,
    },
    {
      title: "Time to the first token",
      description: "Median and 95th percentile.",
      type: "timeseries",
      unit: "s",
      queries: quantiles("sglang:time_to_first_token_seconds", all),
      width: 8,
    },
    {
      title: "Time between tokens",
      description: "Median and 95th percentile.",
      type: "timeseries",
      unit: "s",
      queries: quantiles("sglang:inter_token_latency_seconds", all),
      width: 8,
    },
    {
      title: "Duration of a request",
      description: "Median and 95th percentile, end to end.",
      type: "timeseries",
      unit: "s",
      queries: quantiles("sglang:e2e_request_latency_seconds", all),
      width: 8,
    },
    {
      title: "Token memory in use",
      description:
        "Share of the pool of key-value tokens; and of the state of linear attention where the model has it.",
      type: "timeseries",
      unit: "percentunit",
      queries: [
        { expr: gauge("sglang:token_usage"), legend: "{{service}} tokens" },
        { expr: gauge("sglang:mamba_usage"), legend: "{{service}} state" },
      ],
      width: 8,
    },
    {
      title: "Prefix cache",
      description: "Share of prompt tokens that were found in the cache.",
      type: "timeseries",
      unit: "percentunit",
      queries: service(gauge("sglang:cache_hit_rate")),
      width: 8,
    },
    {
      title: "Speculative decoding",
      description: "Tokens per step of the large model: 1 means that no draft is ever accepted.",
      type: "timeseries",
      unit: "short",
      queries: service(gauge("sglang:spec_accept_length")),
      width: 8,
    },
    {
      title: "Failed requests",
      description: "Per second: answers with a status of 500 and more, and requests that were broken off.",
      type: "timeseries",
      unit: "reqps",
      queries: [
        {
          expr: `sum by (service) (rate(sglang:http_responses_total{${all},status_code=~"5.."}[$__rate_interval]))`,
          legend: "{{service}} 5xx",
        },
        { expr: rate("sglang:num_aborted_requests_total"), legend: "{{service}} broken off" },
      ],
      width: 24,
    },
  ];
}

/** Panels from left to right, in rows of 24 columns. */
function placed(all: readonly Panel[]): object[] {
  let x = 0;
  let y = 0;
  return all.map(({ title, description, type, unit, queries, width }, index) => {
    if (x + width > COLUMNS) [x, y] = [0, y + HEIGHT];
    const gridPos = { x, y, w: width, h: HEIGHT };
    x += width;
    return {
      id: index + 1,
      title,
      description,
      type,
      datasource: DATASOURCE,
      gridPos,
      fieldConfig: { defaults: { unit }, overrides: [] },
      ...(type === "stat"
        ? { options: { textMode: "value_and_name", reduceOptions: { calcs: ["lastNotNull"] } } }
        : {}),
      targets: queries.map(({ expr, legend }, number) => ({
        refId: String.fromCharCode("A".charCodeAt(0) + number),
        datasource: DATASOURCE,
        expr,
        legendFormat: legend,
        ...(type === "timeseries" ? {} : { instant: true }),
      })),
    };
  });
}

/** `monitoring/dashboard.json`: a Grafana dashboard of the stack, to import; it asks for its data source. */
export function renderDashboard(monitoring: Monitoring): string {
  const { stack, jobs } = monitoring;
  const variable = { hide: 0, includeAll: true, multi: true, refresh: 2 };
  const dashboard = {
    uid: `proxmox-gpu-stack-${stack}`.slice(0, 40),
    title: `LLM services of ${stack}`,
    description: `Made by proxmox-gpu-stack: ./stack render ${stack} --out DIR makes it anew.`,
    tags: ["proxmox-gpu-stack", "sglang"],
    schemaVersion: 38,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
        {
          name: "service",
          label: "Service",
          type: "query",
          datasource: DATASOURCE,
          query: `label_values(up{job="${jobs.server}"}, service)`,
          ...variable,
        },
      ],
    },
    panels: placed(panels(monitoring)),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
