import { stringify } from "yaml";
import { monitoringBanner, type MonitoredService, type Monitoring } from "./targets";

/** A probe that is older says nothing about now; `./stack status` counts the same. */
const INTERVALS = 3;

/** Starting and stopped are no faults of answers: a service that is down has an alert of its own. */
const BAD_STATES = "degenerate|limited|unreachable";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  /** `service` where a rule is of one service: two rules of one name need different labels. */
  readonly labels: { readonly severity: "critical" | "warning"; readonly service?: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

function stackRules({ stack, jobs }: Monitoring): Rule[] {
  const queue = `sglang:num_queue_reqs{stack="${stack}"}[10m]`;
  return [
    {
      alert: "SglangServiceDown",
      expr: `up{job="${jobs.server}"} == 0`,
      for: "5m",
      labels: { severity: "critical" },
      annotations: {
        summary: "{{ $labels.service }} on {{ $labels.host }} does not answer",
        description: `Its /metrics gives no answer. ./stack status ${stack} says why, ./stack recover ${stack} {{ $labels.service }} brings it back.`,
      },
    },
    {
      alert: "SglangProbeUnhealthy",
      expr: `sglang_probe_state{stack="${stack}",state=~"${BAD_STATES}"} == 1`,
      for: "1m",
      labels: { severity: "critical" },
      annotations: {
        summary: "{{ $labels.service }} on {{ $labels.host }}: the probe says {{ $labels.state }}",
        description: `A server whose scheduler is stuck still answers /metrics, and degenerate texts look like any others: the probe asks questions with known answers. The journal of sglang-{{ $labels.service }}-probe.service holds what it got; ./stack recover ${stack} {{ $labels.service }} restarts the server.`,
      },
    },
    {
      alert: "SglangQueueGrowing",
      expr: [
        `max by (stack, host, service) (min_over_time(${queue})) > 0`,
        "and",
        `max by (stack, host, service) (deriv(${queue})) > 0`,
      ].join("\n"),
      for: "5m",
      labels: { severity: "warning" },
      annotations: {
        summary: "{{ $labels.service }} on {{ $labels.host }}: more requests wait than are answered",
        description:
          "Requests have been waiting for ten minutes without a break, and they become more: the service is asked for more than it can do, or it is stuck.",
      },
    },
  ];
}

/** Rules with a limit that follows the service's own interval. */
function probeRules({ stack }: Monitoring, { name, probeIntervalMinutes, job }: MonitoredService): Rule[] {
  const limit = INTERVALS * probeIntervalMinutes;
  const timestamp = `sglang_probe_timestamp_seconds{stack="${stack}",service="${name}"}`;
  return [
    {
      alert: "SglangProbeStale",
      expr: `time() - max by (stack, host, service) (${timestamp}) > ${limit * 60}`,
      for: "1m",
      labels: { severity: "warning", service: name },
      annotations: {
        summary: `${name} on {{ $labels.host }}: the last probe is {{ $value | humanizeDuration }} old`,
        description: `One comes every ${probeIntervalMinutes} minutes; in the container: systemctl status sglang-${name}-probe.timer`,
      },
    },
    {
      alert: "SglangProbeMissing",
      expr: `up{job="${job}",service="${name}"} == 1 unless on (stack, service) ${timestamp}`,
      for: `${limit}m`,
      labels: { severity: "warning", service: name },
      annotations: {
        summary: `${name} on {{ $labels.host }}: no result of its probe is scraped`,
        description:
          "node_exporter must run in the container {{ $labels.container }} with its textfile directory as prometheus.yaml says; or the probe never ran.",
      },
    },
  ];
}

/** A router that lost a replica still answers, until it has lost the last. */
function routerRules({ stack, jobs, routers }: Monitoring): Rule[] {
  if (routers.length === 0) return [];
  return [
    {
      alert: "SglangRouterDown",
      expr: `up{job="${jobs.router}"} == 0`,
      for: "1m",
      labels: { severity: "critical" },
      annotations: {
        summary: "the router {{ $labels.service }} on {{ $labels.host }} does not answer",
        description: `Nobody reaches its replicas through it. ./stack status ${stack} says why, ./stack recover ${stack} {{ $labels.service }} brings it back.`,
      },
    },
    ...routers.map(({ name, replicas }): Rule => ({
      alert: "SglangRouterReplicaOut",
      expr: `sum by (stack, host, service) (smg_worker_health{stack="${stack}",service="${name}"}) < ${replicas}`,
      for: "2m",
      labels: { severity: "warning", service: name },
      annotations: {
        summary: `${name} on {{ $labels.host }}: {{ $value }} of ${replicas} replicas take part`,
        description:
          "The others answer for those that are out. Look at the services behind it; the probe of the router names the one that is missing.",
      },
    })),
  ];
}

/** `monitoring/alerts.yaml`: a service down, its answers bad, its probe stale or missing, its queue growing. */
export function renderAlerts(monitoring: Monitoring): string {
  const rules = [
    ...stackRules(monitoring),
    ...routerRules(monitoring),
    ...monitoring.services.flatMap((service) => probeRules(monitoring, service)),
  ];
  const text = monitoringBanner(monitoring, [
    "Rules for rule_files; they need both jobs of prometheus.yaml beside it.",
  ]);
  const content = { groups: [{ name: `proxmox-gpu-stack-${monitoring.stack}`, rules }] };
  return `${text}\n${stringify(content, { lineWidth: 0, blockQuote: "literal" })}`;
}
