/** What `scripts/host/status.sh` reports, as typed data. */
import { unitsOf, type StackPlan } from "../../plan/stack";
import type { StackConfig } from "../../config/schema";
import { HOST, step, type Step } from "../../plan/step";

export interface CardState {
  readonly uuid: string;
  /** `0000:41:00.0` */
  readonly pci: string;
  /** Number of the node /dev/nvidiaN. */
  readonly minor: string;
  readonly usedMiB: string;
  readonly totalMiB: string;
  /** Ids of the containers with a process that holds the card, and `host` for one outside of all; space between. */
  readonly users: string;
}

export interface ContainerState {
  readonly id: string;
  /** What `pct status` says, or `missing`. */
  readonly state: string;
  readonly address: string;
}

/** A service of a running container. */
export interface ServiceState {
  readonly name: string;
  /** systemd's ActiveState; `inactive` also for a unit that is not there. */
  readonly state: string;
  /** systemd's UnitFileState; empty for a unit that is not there. */
  readonly enabled: string;
  readonly restarts: string;
  /** Unix time of the last change of state; empty: none since the boot. */
  readonly since: string;
  /** State file of the repeated probe as it is; empty: it never ran. */
  readonly probe: string;
  /** Folder that the environment's link points to; empty: there is no link. */
  readonly environment: string;
  /** Digest of what passed the health gate last; empty: nothing did. */
  readonly good: string;
}

export interface StatusFacts {
  readonly node: string;
  readonly kernel: string;
  readonly uptimeSeconds: number;
  /** Version of the loaded driver; empty: none. */
  readonly driver: string;
  /** Unix time of the host. */
  readonly clock: number;
  readonly cards: readonly CardState[];
  readonly containers: readonly ContainerState[];
  readonly services: readonly ServiceState[];
}

/** The step that looks at the host, the stack's containers and their services. */
export function statusStep(config: StackConfig, plan: StackPlan): Step {
  return step({
    name: "status",
    target: HOST,
    script: "host/status",
    args: {
      containers: Object.values(config.containers)
        .map(({ vmId }) => vmId)
        .join(","),
      services: unitsOf(plan)
        .map(({ name, service, step: own }) =>
          [config.containers[service.container]?.vmId, name, own.args.environment].join(":"),
        )
        .join(","),
    },
    timeoutMinutes: 3,
    summary: "looks at the host, its containers and their services, and changes nothing",
  });
}

/** The script reports every fact: what is missing would be a fault of the program. */
export function statusFacts(reported: Readonly<Record<string, unknown>>): StatusFacts {
  // A text of digits has become a number on its way.
  const texts = ["node", "kernel", "driver"].map((name) => [name, String(reported[name])]);
  return { ...reported, ...Object.fromEntries(texts) } as unknown as StatusFacts;
}
