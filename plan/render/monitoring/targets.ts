/** What of a stack can be scraped, and under which names. */
import path from "node:path";
import { hostPart } from "../../../config/addresses";
import type { StackConfig } from "../../../config/schema";
import type { InferenceServicePlan } from "../../service-steps";
import { unitsOf, type StackPlan } from "../../stack";
import type { UnitPlan } from "../../unit-step";

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
  /** Job that scrapes it. */
  readonly job: string;
}

export interface Monitoring {
  /** The stack's name; the label `stack` of everything. */
  readonly stack: string;
  /** Names of the jobs: SGLang's own endpoints, its routers', and the node exporters that tell of the probes. */
  readonly jobs: { readonly server: string; readonly router: string; readonly probe: string };
  /** Services whose endpoint can be scraped; alerts are about these. */
  readonly services: readonly MonitoredService[];
  readonly servers: readonly Target[];
  readonly routers: readonly (Target & { readonly name: string; readonly replicas: number })[];
  readonly exporters: readonly Target[];
  /** Why a service is not scraped, one sentence each. */
  readonly leftOut: readonly string[];
}

/** `kpro5` of `Pulumi.kpro5.yaml`, or the stack's name as it is. */
function stackName(source: string): string {
  return path.basename(source).replace(/^Pulumi\.(.+)\.yaml$/, "$1");
}

function reasonToLeaveOut(config: StackConfig, unit: UnitPlan | InferenceServicePlan): string | undefined {
  const { name, service } = unit;
  if (!service.enabled) return `${name}: not enabled`;
  if ("plan" in unit && !unit.service.metrics) return `${name}: has metrics: false`;
  if (/^(127\.|localhost$|\[?::1)/.test(service.listen))
    return `${name}: listens on ${service.listen} only, which nobody outside of its container reaches`;
  if (config.containers[service.container]?.network.address === "unknown")
    return `${name}: the address of its container is not recorded`;
  return undefined;
}

/** Which services and containers of the stack are scraped, sorted by name. */
export function monitoringOf(config: StackConfig, plan: StackPlan): Monitoring {
  const stack = stackName(config.source);
  const byName = (a: UnitPlan, b: UnitPlan): number => (a.name < b.name ? -1 : 1);
  const isScraped = (unit: UnitPlan): boolean => reasonToLeaveOut(config, unit) === undefined;
  const scraped = [...plan.services].sort(byName).filter(isScraped);
  const routers = [...plan.routers].sort(byName).filter(isScraped);
  const host = config.host.node;
  const containers = [...new Set([...scraped, ...routers].map(({ service }) => service.container))].sort();
  const jobs = {
    server: `sglang-${stack}`,
    router: `sglang-router-${stack}`,
    probe: `sglang-probe-${stack}`,
  };
  const monitored = ({ name, service }: UnitPlan, job: string): MonitoredService => ({
    name,
    unit: service.unit,
    probeIntervalMinutes: service.probeIntervalMinutes,
    job,
  });
  const target = (url: string, { name, service }: UnitPlan): Target => ({
    address: url.replace(/^http:\/\//, ""),
    labels: { stack, host, container: service.container, service: name },
  });
  return {
    stack,
    jobs,
    services: [
      ...scraped.map((unit) => monitored(unit, jobs.server)),
      ...routers.map((unit) => monitored(unit, jobs.router)),
    ],
    servers: scraped.map((unit) => target(unit.url, unit)),
    routers: routers.map((unit) => ({
      ...target(unit.metricsUrl, unit),
      name: unit.name,
      replicas: unit.service.replicas.length,
    })),
    exporters: containers.map((container) => ({
      address: `${hostPart(config.containers[container]?.network.address ?? "")}:${NODE_EXPORTER_PORT}`,
      labels: { stack, host, container },
    })),
    leftOut: unitsOf(plan)
      .sort(byName)
      .map((unit) => reasonToLeaveOut(config, unit))
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
