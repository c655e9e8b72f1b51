import type { ResolvedService, StackConfig } from "../../config/schema";
import type { StackPlan } from "../stack";
import { code, table } from "./markdown";
import { topologyPicture } from "./picture";

function section(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : [`## ${title}`, table(head, rows)];
}

function gpuRows(config: StackConfig): string[][] {
  return Object.entries(config.gpus).map(([name, gpu]) => {
    const users = Object.entries(config.containers).filter(([, container]) => container.gpus.includes(name));
    return [
      code(name),
      gpu.model,
      code(gpu.uuid ?? gpu.pci ?? "unknown"),
      users.map(([container]) => code(container)).join(", ") || "nobody",
    ];
  });
}

function containerRows(config: StackConfig): string[][] {
  return Object.entries(config.containers).map(([name, container]) => [
    code(name),
    String(container.vmId),
    container.network.address,
    `${container.cores} cores, ${container.memoryGiB} GiB, ${container.rootDisk.sizeGiB} GiB on ${container.rootDisk.storage}`,
    container.mounts.map((mount) => `${code(mount.source)} → ${code(mount.target)}`).join(", "),
  ]);
}

function nodeText(
  { rank, count, address, port }: NonNullable<ResolvedService["nodes"]>,
  url: string,
): string {
  const place = `rank ${rank} of ${count} nodes, which meet at ${address}:${port}`;
  return rank === 0 ? `${url} (${place})` : place;
}

function serviceRows(plan: StackPlan): string[][] {
  return plan.services.map(({ name, service, url }) => [
    code(name),
    code(service.container),
    code(service.model),
    service.enabled ? "yes" : "no",
    service.release ?? "unknown",
    service.gpus.map(code).join(", "),
    service.nodes === undefined ? url : nodeText(service.nodes, url),
    service.conflictsWith.map(code).join(", ") || "nobody",
  ]);
}

function routerRows(plan: StackPlan): string[][] {
  return plan.routers.map(({ name, service, url, metricsUrl }) => [
    code(name),
    code(service.container),
    service.servedModelName,
    service.enabled ? "yes" : "no",
    service.replicas.map((one) => (one.service === undefined ? one.url : code(one.service))).join(", "),
    service.policy,
    url,
    `${metricsUrl}/metrics`,
  ]);
}

/** topology.md: what runs where, and what uses what. */
export function renderTopology(config: StackConfig, plan: StackPlan): string {
  const { host, driver } = config;
  return `${[
    `# ${host.node}`,
    `Proxmox VE host ${code(host.node)} at ${host.address}, NVIDIA driver ${driver.version} (${driver.modules} kernel modules).`,
    topologyPicture(config, plan),
    ...section("GPUs", ["card", "model", "identity", "containers"], gpuRows(config)),
    ...section("Containers", ["container", "id", "address", "size", "mounts"], containerRows(config)),
    ...section(
      "Environments",
      ["environment", "container", "path", "lock", "digest"],
      plan.environments.map((environment) => [
        code(environment.name),
        code(environment.container),
        code(environment.path),
        code(config.environments[environment.name]?.lock ?? ""),
        code(environment.digest),
      ]),
    ),
    ...section(
      "Models",
      ["model", "repository", "revision", "path on the host"],
      Object.entries(config.models).map(([name, model]) => [
        code(name),
        model.repo,
        code(model.revision),
        code(model.path),
      ]),
    ),
    ...section(
      "Services",
      ["service", "container", "model", "enabled", "SGLang", "cards", "endpoint", "never beside"],
      serviceRows(plan),
    ),
    ...section(
      "Routers",
      ["router", "container", "model", "enabled", "replicas", "policy", "endpoint", "metrics"],
      routerRows(plan),
    ),
  ].join("\n\n")}\n`;
}
