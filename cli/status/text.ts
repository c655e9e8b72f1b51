/** What `./stack status` tells a person. */
import Table from "cli-table3";
import { duration } from "./duration";
import type { StackStatus } from "./look";
import type { GpuStatus, ServiceStatus, StatusReport } from "./report";

type Row = readonly string[];
type Seen = Extract<StackStatus, { report: StatusReport }>;

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

interface Shown {
  readonly seen: readonly Seen[];
  /** Whether more than one stack was asked. */
  readonly several: boolean;
}

/** Rows of several stacks, each under its stack's name; of one stack without it. */
function joined(
  { seen, several }: Shown,
  head: Row,
  rowsOf: (report: StatusReport) => readonly Row[],
): string {
  if (!several)
    return table(
      head,
      seen.flatMap(({ report }) => rowsOf(report)),
    );
  return table(
    ["stack", ...head],
    seen.flatMap(({ stack, report }) => rowsOf(report).map((row) => [stack, ...row])),
  );
}

function hostLine({ host: { node, kernel, uptimeSeconds, driver } }: StatusReport): string {
  const loaded = driver === null ? "no NVIDIA driver loaded" : `driver ${driver}`;
  return `${node}: kernel ${kernel}, up for ${duration(uptimeSeconds)}, ${loaded}`;
}

function hostsOf(shown: Shown): string {
  if (!shown.several) return shown.seen.map(({ report }) => hostLine(report)).join("\n");
  return joined(shown, ["host", "kernel", "up for", "driver"], ({ host }) => [
    [host.node, host.kernel, duration(host.uptimeSeconds), host.driver ?? "none loaded"],
  ]);
}

/** Tables of all stacks, and below them what is wrong and what to do, whole for copying. */
export function statusText(stacks: readonly StackStatus[]): string {
  const seen = stacks.filter((status) => "report" in status);
  const several = stacks.length > 1;
  const shown = { seen, several };
  const tables = [
    hostsOf(shown),
    joined(shown, ["GPU", "PCI", "node", "memory", "used by"], ({ gpus }) => gpus.map(gpuRow)),
    joined(shown, ["container", "id", "state", "address"], ({ containers }) =>
      containers.map(({ name, id, state, address }) => [name, String(id), state, address]),
    ),
    joined(
      shown,
      ["service", "state", "restarts", "last probe", "environment", "health gate"],
      ({ services }) => services.map(serviceRow),
    ),
  ];
  return [
    ...(seen.length === 0 ? [] : tables),
    ...stacks.flatMap((status) => {
      const name = several ? `${status.stack}: ` : "";
      if ("error" in status) return [`${status.stack}: ${status.error}`];
      return status.report.problems.flatMap(({ message, fix }) => [
        `${name}${message}`,
        `  fix: ${fix.replace("STACK", status.stack)}`,
      ]);
    }),
  ].join("\n");
}
