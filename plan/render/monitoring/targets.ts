/** What of a stack can be scraped, and under which names. */
import path from "node:path";
import type { StackConfig } from "../../../config/schema";
import type { InferenceServicePlan } from "../../service-steps";
import type { StackPlan } from "../../stack";

/** Port of node_exporter, its own default. */
const NODE_EXPORTER_PORT = 9100;

export interface Target {
  /** `10.1.2.129:30000` */
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface MonitoredService {
  readonly name: string;
  readonly unit: string;
  readonly probeIntervalMinutes: number;
}

export interface Monitoring {
  /** The stack's name; the label `stack` of everything. */
  readonly stack: string;
  /** Names of the two jobs: SGLang's own endpoints, and the node exporters that tell of the probes. */
  readonly jobs: { readonly server: string; readonly probe: string };
  /** Services whose endpoint can be scraped; alerts are about these. */
  readonly services: readonly MonitoredService[];
  readonly servers: readonly Target[];
  readonly exporters: readonly Target[];
  /** Why a service is not scraped, one sentence each. */
  readonly leftOut: readonly string[];
}

/** `kpro5` of `Pulumi.kpro5.yaml`, or the stack's name as it is. */
function stackName(source: string): string {
  return path.basename(source).replace(/^Pulumi\.(.+)\.yaml$/, "$1");
}

function reasonToLeaveOut(config: StackConfig, { name, service }: InferenceServicePlan): string | undefined {
  if (!service.enabled) return `${name}: not enabled`;
  if (!service.metrics) return `${name}: has metrics: false`;
  if (/^(127\.|localhost$|\[?::1)/.test(service.listen))
    return `${name}: listens on ${service.listen} only, which nobody outside of its container reaches`;
  if (config.containers[service.container]?.network.address === "unknown")
    return `${name}: the address of its container is not recorded`;
  return undefined;
}

/** Which services and containers of the stack are scraped, sorted by name. */
export function monitoringOf(config: StackConfig, plan: StackPlan): Monitoring {
  const stack = stackName(config.source);
  const sorted = [...plan.services].sort((a, b) => (a.name < b.name ? -1 : 1));
  const scraped = sorted.filter((service) => reasonToLeaveOut(config, service) === undefined);
  const host = config.host.node;
  const containers = [...new Set(scraped.map(({ service }) => service.container))].sort();
  return {
    stack,
    jobs: { server: `sglang-${stack}`, probe: `sglang-probe-${stack}` },
    services: scraped.map(({ name, service }) => ({
      name,
      unit: service.unit,
      probeIntervalMinutes: service.probeIntervalMinutes,
    })),
    servers: scraped.map(({ name, url, service }) => ({
      address: url.replace(/^http:\/\//, ""),
      labels: { stack, host, container: service.container, service: name },
    })),
    exporters: containers.map((container) => ({
      address: `${config.containers[container]?.network.address.split("/")[0] ?? ""}:${NODE_EXPORTER_PORT}`,
      labels: { stack, host, container },
    })),
    leftOut: sorted
      .map((service) => reasonToLeaveOut(config, service))
      .filter((reason) => reason !== undefined),
  };
}

/** First lines of the files for Prometheus. */
export function monitoringBanner({ stack }: Monitoring, lines: readonly string[]): string {
  return [
    `Made by proxmox-gpu-stack of stack ${stack}: ./stack render ${stack} --out DIR makes it anew.`,
    ...lines,
  ]
    .map((line) => (line === "" ? "#" : `# ${line}`))
    .join("\n");
}
