import { stringify } from "yaml";
import { PROBE_DIRECTORY } from "../../unit/paths";
import { monitoringBanner, type Monitoring, type Target } from "./targets";

function job(name: string, targets: readonly Target[], more: object = {}): object {
  return {
    job_name: name,
    scrape_interval: "15s",
    static_configs: targets.map(({ address, labels }) => ({ targets: [address], labels })),
    ...more,
  };
}

/**
 * `monitoring/prometheus.yaml`: one job for SGLang's own endpoints, one for the results of the repeated probes. It holds
 * `scrape_configs` alone, so that it is a Prometheus configuration by itself and also a file for `scrape_config_files`.
 */
export function renderScrapes(monitoring: Monitoring): string {
  const { jobs, servers, routers, exporters, leftOut } = monitoring;
  const text = monitoringBanner(monitoring, [
    "For a Prometheus of your own: name it in scrape_config_files (2.43 or newer), or take both jobs into scrape_configs;",
    "name alerts.yaml in rule_files.",
    "",
    `${jobs.server}: SGLang's own /metrics, which needs no API key, also where the service has one.`,
    ...(routers.length === 0
      ? []
      : [`${jobs.router}: the routers' metrics: replicas that take part, requests, failures.`]),
    `${jobs.probe}: the results of the repeated probes. They lie as textfile metrics in the container, in`,
    `${PROBE_DIRECTORY}/*.prom: run node_exporter there (Debian: prometheus-node-exporter) with`,
    `--collector.textfile.directory=${PROBE_DIRECTORY}`,
    ...(leftOut.length === 0 ? [] : ["", "Not scraped:", ...leftOut.map((reason) => `  ${reason}`)]),
  ]);
  // Of a container's exporter nothing else is of this stack.
  const keep = {
    metric_relabel_configs: [
      { source_labels: ["__name__"], regex: "sglang_probe_.*|proxmox_gpu_stack_.*", action: "keep" },
    ],
  };
  const content = {
    scrape_configs: [
      ...(servers.length === 0 ? [] : [job(jobs.server, servers)]),
      ...(routers.length === 0 ? [] : [job(jobs.router, routers)]),
      job(jobs.probe, exporters, keep),
    ],
  };
  return `${text}\n${stringify(content, { lineWidth: 0 })}`;
}
