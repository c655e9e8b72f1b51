/** The report of `./stack status` for a person. */
import Table from "cli-table3";
import { duration } from "./duration";
import type { GpuStatus, ServiceStatus, StatusReport } from "./report";

type Row = readonly string[];

function table(head: Row, rows: readonly Row[]): string {
  const result = new Table({
    head: [...head],
    style: { head: [], border: [] },
    // No lines between rows.
    chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  });
  result.push(...rows.map((row) => [...row]));
  return result.toString();
}

function gpuRow({ name, present, pci, node, memoryUsedMiB, memoryTotalMiB, users }: GpuStatus): Row {
  if (!present) return [name, "missing", "", "", ""];
  return [
    name,
    pci ?? "",
    node ?? "no node",
    `${memoryUsedMiB ?? "?"} of ${memoryTotalMiB ?? "?"} MiB`,
    users.join(", ") || "nobody",
  ];
}

function serviceRow(service: ServiceStatus): Row {
  const { name, enabled, state, restarts, sinceSeconds, probe, environment, declaredEnvironment, gate } =
    service;
  const other = environment === null || environment === declaredEnvironment ? "" : " (not as declared)";
  return [
    enabled ? name : `${name} (not enabled)`,
    `${state}${sinceSeconds === null ? "" : ` for ${duration(sinceSeconds)}`}`,
    restarts === null ? "" : String(restarts),
    probe === null
      ? state === "unknown"
        ? "unknown"
        : "none yet"
      : `${probe.state}, ${duration(probe.ageSeconds)} ago`,
    `${environment ?? (state === "unknown" ? "unknown" : "none")}${other}`,
    gate,
  ];
}

/** Tables, and below them what is wrong and what to do, whole for copying. */
export function statusText({ host, gpus, containers, services, problems }: StatusReport): string {
  const driver = host.driver === null ? "no NVIDIA driver loaded" : `driver ${host.driver}`;
  return [
    `${host.node}: kernel ${host.kernel}, up for ${duration(host.uptimeSeconds)}, ${driver}`,
    table(["GPU", "PCI", "node", "memory", "used by"], gpus.map(gpuRow)),
    table(
      ["container", "id", "state", "address"],
      containers.map(({ name, id, state, address }) => [name, String(id), state, address]),
    ),
    table(
      ["service", "state", "restarts", "last probe", "environment", "health gate"],
      services.map(serviceRow),
    ),
    ...problems.flatMap(({ message, fix }) => [message, `  fix: ${fix}`]),
  ].join("\n");
}
