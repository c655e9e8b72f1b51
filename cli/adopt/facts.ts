/** What `scripts/container/inventory.sh` reports of one container, as typed data. */
import { inContainer, step, type Step } from "../../plan/step";

export interface UnitFacts {
  readonly name: string;
  /** systemd's ActiveState. */
  readonly state: string;
  /** systemd's UnitFileState. */
  readonly enabled: string;
  /** Its file and drop-ins, as `systemctl cat` shows them. */
  readonly text: string;
  /** Command line of its main process; empty: it does not run. */
  readonly running: readonly string[];
}

export interface EnvironmentFacts {
  /** Folder with its pyvenv.cfg. */
  readonly path: string;
  /** `3.11`; empty when the folder does not tell. */
  readonly python: string;
  /** `NAME==VERSION`, as installers spelt them. */
  readonly packages: readonly string[];
}

export interface ModelFolder {
  /** As the container sees it. */
  readonly path: string;
  /** Commit of the hub that the download noted; empty: nobody noted it. */
  readonly revision: string;
}

export interface ContainerContents {
  readonly units: readonly UnitFacts[];
  readonly environments: readonly EnvironmentFacts[];
  readonly models: readonly ModelFolder[];
  /** Version of NVIDIA's libraries; empty: none. */
  readonly driverLibraries: string;
}

/** The step that looks into a container; `mounts` are the folders where its bind mounts are. */
export function contentsStep(vmId: number, mounts: readonly string[]): Step {
  return step({
    name: "container-inventory",
    target: inContainer(vmId),
    script: "container/inventory",
    args: mounts.length > 0 ? { mounts: mounts.join(",") } : {},
    timeoutMinutes: 3,
    summary: "looks into the container and changes nothing",
  });
}

/** The script reports every fact: what is missing would be a fault of the program. */
export function contentsOf(reported: Readonly<Record<string, unknown>>): ContainerContents {
  const { units, environments, models, driverLibraries } = reported;
  return { units, environments, models, driverLibraries: String(driverLibraries) } as ContainerContents;
}
