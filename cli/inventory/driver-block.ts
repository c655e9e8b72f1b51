import { gpuByName } from "../../catalog";
import { UNKNOWN } from "../../config/schema";
import { cardsOf } from "./cards";
import type { HostFacts } from "./host-facts";

const INSTALLER_URL =
  "https://download.nvidia.com/XFree86/Linux-x86_64/{version}/NVIDIA-Linux-x86_64-{version}.run";

/** For a host without a driver: new enough for every card of the catalog; several published configurations pin the file. */
const PROPOSAL = {
  version: "590.48.01",
  sha256: "b9e2f80693781431cc87f4cd29109e133dcecb50a50d6b68d4b3bf2d696bd689",
};

export interface DriverState {
  /** Version of the libraries, the loaded module, or the module on disk; undefined: none. */
  readonly version: string | undefined;
  readonly modules: "open" | "proprietary" | undefined;
  /** What a reader should know, one line each. */
  readonly notes: readonly string[];
}

/** What of NVIDIA's driver is on a host. */
export function driverState(facts: HostFacts): DriverState {
  const running = facts.kernels.find(({ release }) => release === facts.kernel);
  const version = [facts.driverLibraries, facts.driverLoaded, running?.module ?? ""].find(
    (text) => text !== "",
  );
  const notes: string[] = [];
  if (version === undefined)
    notes.push(`no NVIDIA driver is installed${facts.nouveau === "yes" ? "; nouveau holds the cards" : ""}`);
  else if (facts.driverLoaded === "") notes.push(`${version} is installed and not loaded`);
  else if (facts.driverLoaded !== version)
    notes.push(`${version} is installed, ${facts.driverLoaded} is loaded: a reload or a reboot is due`);
  else notes.push(`${version} is installed and loaded`);
  for (const kernel of facts.kernels)
    if (version !== undefined && kernel.matters === "yes" && kernel.module !== version)
      notes.push(
        `kernel ${kernel.release} has ${kernel.module === "" ? "no module" : `module ${kernel.module}`}`,
      );
  if (facts.foreignDriver !== "")
    notes.push(`no stack put it there: ${facts.foreignDriver.split("\n").join("; ")} (replaceExisting)`);
  return { version, modules: running === undefined || running.kind === "" ? undefined : running.kind, notes };
}

/** The block `driver:` of a host, and what to know about it. */
export function driverBlock(facts: HostFacts): { value: object; notes: readonly string[] } {
  const { version, modules, notes } = driverState(facts);
  const models = cardsOf(facts).flatMap(({ model }) => (model === undefined ? [] : (gpuByName(model) ?? [])));
  const chosen = modules ?? (models.every((gpu) => gpu.modules.includes("open")) ? "open" : "proprietary");
  return {
    value: {
      version: version ?? PROPOSAL.version,
      modules: chosen,
      installer: {
        url: INSTALLER_URL,
        sha256: version === undefined || version === PROPOSAL.version ? PROPOSAL.sha256 : UNKNOWN,
      },
    },
    notes: version === undefined ? [...notes, `${PROPOSAL.version} is a proposal`] : notes,
  };
}
