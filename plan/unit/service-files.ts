import { renderEnvironmentFile } from "./environment-file";
import { servicePaths } from "./paths";
import { renderProbeService, renderProbeTimer } from "./probe-units";
import { renderServiceUnit } from "./service-unit";
import type { UnitInput } from "./types";

/**
 * The files of a service by their path in the container: units, timer, environment file. The same input gives the same
 * text. No file holds a secret; the service's step writes those from standard input.
 */
export function renderServiceFiles(input: UnitInput): Record<string, string> {
  const paths = servicePaths(input.name);
  return {
    [paths.unit]: renderServiceUnit(input),
    [paths.environmentFile]: renderEnvironmentFile(input),
    [paths.probeService]: renderProbeService(input),
    [paths.probeTimer]: renderProbeTimer(input),
  };
}
