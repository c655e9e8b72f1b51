/** What is wrong with a stack: each makes `./stack status` exit with 1. */
import type { ContainerStatus, GpuStatus, ServiceStatus } from "./report";
import { duration } from "./duration";

export interface StatusProblem {
  readonly id: "card" | "container" | "service" | "probe";
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}

/** A probe that is older says nothing about now: its timer does not run. */
const INTERVALS = 3;

export function cardProblems(gpus: readonly GpuStatus[], driver: string): StatusProblem[] {
  return gpus
    .filter(({ present }) => !present)
    .map(({ name, id }) => ({
      id: "card",
      message: `${name}: ${driver === "" ? "NVIDIA's driver is not loaded, nobody tells of" : "the driver does not tell of"} ${id}`,
      fix: `on the host: nvidia-smi -L, and journalctl -k --grep 'NVRM|Xid'`,
    }));
}

export function containerProblems(containers: readonly ContainerStatus[]): StatusProblem[] {
  return containers
    .filter(({ state }) => state !== "running")
    .map(({ name, id, state }) => ({
      id: "container",
      message: `${name}: container ${id} is ${state}`,
      fix:
        state === "missing"
          ? "run `up`; `./stack doctor` says what would stop it"
          : `on the host: pct start ${id}`,
    }));
}

/** @param interval minutes between two probes */
function probeProblems(
  { name, unit, probe, sinceSeconds }: ServiceStatus,
  interval: number,
): StatusProblem[] {
  const limit = INTERVALS * interval * 60;
  const timer = unit.replace(/\.service$/, "-probe.timer");
  // The first one comes an interval after the service passed its gate.
  const age = probe?.ageSeconds ?? sinceSeconds ?? Infinity;
  if (probe !== null && probe.state !== "healthy") {
    const reason = probe.reasons[0] === undefined ? "" : `: ${probe.reasons[0]}`;
    return [
      {
        id: "probe",
        message: `${name}: the probe ${duration(age)} ago says ${probe.state}${reason}`,
        fix: `./stack recover STACK ${name}; in the container: journalctl -u ${unit.replace(/\.service$/, "-probe")}`,
      },
    ];
  }
  if (age <= limit) return [];
  const message =
    probe === null
      ? `${name}: the repeated probe never ran`
      : `${name}: the last probe is ${duration(age)} old, one comes every ${interval} minutes`;
  return [{ id: "probe", message, fix: `in the container: systemctl status ${timer}` }];
}

/** @param interval minutes between two probes */
export function serviceProblems(status: ServiceStatus, interval: number): StatusProblem[] {
  const { name, unit, state } = status;
  if (state === "active") return probeProblems(status, interval);
  return [
    {
      id: "service",
      message: `${name}: ${unit} is ${state}`,
      fix: `in the container: journalctl -u ${unit}; then ./stack recover STACK ${name}`,
    },
  ];
}
