/** How a stack is, from what its host reports: facts beside what is declared, and what is wrong. Asks no machine. */
import { hostPart } from "../../config/addresses";
import type { StackConfig } from "../../config/schema";
import { cardId } from "../../plan/host-steps";
import { unitsOf, type StackPlan } from "../../plan/stack";
import type { UnitPlan } from "../../plan/unit-step";
import { cardProblems, containerProblems, serviceProblems, type StatusProblem } from "./problems";
import type { ServiceState, StatusFacts } from "./facts";

export interface HostStatus {
  readonly node: string;
  readonly kernel: string;
  readonly uptimeSeconds: number;
  /** Version of the loaded driver; null: none is loaded. */
  readonly driver: string | null;
}

export interface GpuStatus {
  /** Name in the stack file. */
  readonly name: string;
  /** UUID or PCI address, as declared. */
  readonly id: string;
  /** False when the driver does not tell of it. */
  readonly present: boolean;
  readonly pci: string | null;
  /** `/dev/nvidia0` */
  readonly node: string | null;
  readonly memoryUsedMiB: number | null;
  readonly memoryTotalMiB: number | null;
  /** Ids of the containers with a process that holds the card; `host`: a process outside of all containers. */
  readonly users: readonly string[];
}

export interface ContainerStatus {
  readonly name: string;
  readonly id: number;
  /** What `pct status` says, or `missing`. */
  readonly state: string;
  /** What its configuration on the host says; the declared one where that is missing. */
  readonly address: string;
}

export interface ProbeStatus {
  /** healthy, degraded (a router without one of its replicas), degenerate, limited, unreachable, starting or stopped. */
  readonly state: string;
  readonly ageSeconds: number;
  readonly reasons: readonly string[];
}

export interface ServiceStatus {
  readonly name: string;
  readonly unit: string;
  /** Whether the stack wants it to run. */
  readonly enabled: boolean;
  /** systemd's ActiveState; `unknown` while its container does not run. */
  readonly state: string;
  readonly restarts: number | null;
  /** How long it has been in this state; null: since the boot, or unknown. */
  readonly sinceSeconds: number | null;
  /** The last repeated probe; null: it never ran. */
  readonly probe: ProbeStatus | null;
  /** Digest of the environment that its link points to; null: there is none. */
  readonly environment: string | null;
  /** Digest that the stack declares. */
  readonly declaredEnvironment: string;
  /** Whether what is declared passed its health gate, something earlier did, or nothing. */
  readonly gate: "passed" | "passed earlier" | "not passed" | "unknown";
}

export interface StatusReport {
  readonly host: HostStatus;
  readonly gpus: readonly GpuStatus[];
  readonly containers: readonly ContainerStatus[];
  readonly services: readonly ServiceStatus[];
  readonly problems: readonly StatusProblem[];
}

const numberOrNull = (text: string): number | null => (/^\d+$/.test(text) ? Number(text) : null);

function gpuStatuses(config: StackConfig, facts: StatusFacts): GpuStatus[] {
  return Object.entries(config.gpus).map(([name, gpu]) => {
    const card = facts.cards.find(({ uuid, pci }) =>
      gpu.uuid === undefined ? pci === gpu.pci : uuid === gpu.uuid,
    );
    return {
      name,
      id: cardId(gpu),
      present: card !== undefined,
      pci: card?.pci ?? null,
      node: card === undefined || card.minor === "" ? null : `/dev/nvidia${card.minor}`,
      memoryUsedMiB: numberOrNull(card?.usedMiB ?? ""),
      memoryTotalMiB: numberOrNull(card?.totalMiB ?? ""),
      users: card?.users.split(" ").filter((user) => user !== "") ?? [],
    };
  });
}

function containerStatuses(config: StackConfig, facts: StatusFacts): ContainerStatus[] {
  return Object.entries(config.containers).map(([name, { vmId, network }]) => {
    const found = facts.containers.find(({ id }) => id === String(vmId));
    const declared = hostPart(network.address);
    return { name, id: vmId, state: found?.state ?? "missing", address: found?.address || declared };
  });
}

/** The state file of the repeated probe; one that nobody can read is told as such. */
function probeStatus(text: string, clock: number): ProbeStatus | null {
  if (text.trim() === "") return null;
  try {
    const { state, timestamp, reasons } = JSON.parse(text) as Record<string, unknown>;
    if (typeof state === "string" && typeof timestamp === "number")
      return {
        state,
        ageSeconds: Math.max(0, clock - timestamp),
        reasons: Array.isArray(reasons) ? reasons.map(String) : [],
      };
  } catch {
    // Told below, like a file of another content.
  }
  return { state: "unreadable", ageSeconds: 0, reasons: ["its state file holds no result"] };
}

function gateStatus(good: string, declared: string | undefined): ServiceStatus["gate"] {
  if (good.trim() === "") return "not passed";
  return good.trim() === declared ? "passed" : "passed earlier";
}

function serviceStatus(
  { name, service, step }: UnitPlan,
  found: ServiceState | undefined,
  clock: number,
): ServiceStatus {
  const lastPart = (path: string | undefined): string => path?.split("/").at(-1) ?? "";
  const since = numberOrNull(found?.since ?? "");
  return {
    name,
    unit: service.unit,
    enabled: service.enabled,
    state: found?.state ?? "unknown",
    restarts: numberOrNull(found?.restarts ?? ""),
    sinceSeconds: since === null ? null : Math.max(0, clock - since),
    probe: probeStatus(found?.probe ?? "", clock),
    environment: lastPart(found?.environment) || null,
    declaredEnvironment: lastPart(step.args.target),
    gate: found === undefined ? "unknown" : gateStatus(found.good, step.args.gate),
  };
}

/** The report of `./stack status`; nothing in `problems`: all is healthy. */
export function statusReport(config: StackConfig, plan: StackPlan, facts: StatusFacts): StatusReport {
  const gpus = gpuStatuses(config, facts);
  const containers = containerStatuses(config, facts);
  const units = unitsOf(plan);
  const services = units.map((service) =>
    serviceStatus(
      service,
      facts.services.find(({ name }) => name === service.name),
      facts.clock,
    ),
  );
  const stopped = (name: string): boolean =>
    containers.some((container) => container.name === name && container.state !== "running");
  return {
    host: {
      node: facts.node,
      kernel: facts.kernel,
      uptimeSeconds: facts.uptimeSeconds,
      driver: facts.driver || null,
    },
    gpus,
    containers,
    services,
    problems: [
      ...cardProblems(gpus, facts.driver),
      ...containerProblems(containers),
      ...services.flatMap((status, index) => {
        const planned = units[index]?.service;
        // Without its container it cannot run: that is told once.
        if (planned === undefined || !planned.enabled || stopped(planned.container)) return [];
        return serviceProblems(status, planned.probeIntervalMinutes);
      }),
    ],
  };
}
