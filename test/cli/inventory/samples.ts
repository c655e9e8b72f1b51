import { readFileSync } from "node:fs";
import path from "node:path";

import type { ContainerFacts, HostFacts } from "../../../cli/inventory/host-facts";

/** Facts as a lab host reported them: `bare` before, `deployed` after an `up` of Pulumi.lab.yaml. */
export function recorded(name: "bare" | "deployed", changes: Partial<HostFacts> = {}): HostFacts {
  const text = readFileSync(path.join(__dirname, "fixtures", `${name}.json`), "utf8");
  return { ...(JSON.parse(text) as HostFacts), ...changes };
}

/** A container that no stack made. */
export function foreign(id: string, lines: readonly string[]): ContainerFacts {
  const configuration = ["arch: amd64", "rootfs: local-lvm:vm-disk-0,size=8G", ...lines].join("\n");
  return { id, status: "running", configuration, managed: "no" };
}
