import path from "node:path";
import type { StackConfig } from "../../config/schema";
import { allSteps, unitsOf, type StackPlan } from "../stack";
import { servicePaths } from "../unit/paths";
import { renderContainerConfiguration } from "./container-conf";
import { renderMonitoring } from "./monitoring";
import { renderSteps } from "./steps";
import { renderTopology } from "./topology";

/** Everything that a rendering may hold, so that a new one can replace an old one whole. */
export const RENDERED_ENTRIES = [
  "containers",
  "env",
  "monitoring",
  "specifications",
  "steps.md",
  "topology.md",
  "units",
] as const;

function serviceFiles(plan: StackPlan): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { name, step } of unitsOf(plan)) {
    const { environmentFile, specification } = servicePaths(name);
    for (const [file, text] of Object.entries(step.texts)) {
      if (file.startsWith("/etc/systemd/system/")) files[`units/${path.posix.basename(file)}`] = text;
      else if (file === environmentFile) files[`env/sglang-${name}.env`] = text;
      else if (file === specification) files[`specifications/sglang-${name}.json`] = text;
    }
  }
  return files;
}

/** What a stack puts on machines, as files by their relative path. The same stack gives the same texts. */
export function renderStack(config: StackConfig, plan: StackPlan): Record<string, string> {
  const containers = plan.containers.map((container) => [
    `containers/${container.settings.vmId}.conf`,
    renderContainerConfiguration(config, container),
  ]);
  return {
    ...(Object.fromEntries(containers) as Record<string, string>),
    ...serviceFiles(plan),
    ...renderMonitoring(config, plan),
    "steps.md": renderSteps(config.source, allSteps(plan)),
    "topology.md": renderTopology(config, plan),
  };
}
