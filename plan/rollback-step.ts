import type { StackConfig } from "../config/schema";
import type { EnvironmentPlan } from "./environment-steps";
import { inContainer, step, type Step } from "./step";
import { servicePaths } from "./unit/paths";

/** The step that brings an earlier environment back; no part of an `up`. Without `to`: the one in use before. */
export function rollbackStep(
  config: StackConfig,
  environment: EnvironmentPlan,
  to: string | undefined,
): Step {
  const services = [...Object.values(config.services), ...Object.values(config.routers)].filter(
    (service) => service.environment === environment.name,
  );
  const container = config.containers[environment.container];
  if (container === undefined) throw new Error(`environment ${environment.name} names an unknown container`);
  const minutes = services.map(
    ({ startTimeoutMinutes, stopTimeoutSeconds }) => startTimeoutMinutes + Math.ceil(stopTimeoutSeconds / 60),
  );
  return step({
    name: `${environment.name}-rollback`,
    target: inContainer(container.vmId),
    script: "container/environment-rollback",
    args: {
      name: environment.name,
      path: environment.path,
      to: to ?? "",
      services: services
        .map(({ name, unit }) => `${name}:${unit}:${servicePaths(name).specification}`)
        .join(","),
    },
    // There, and back when the gate does not pass.
    timeoutMinutes: 10 + 2 * minutes.reduce((sum, value) => sum + value, 0),
    summary: `environment ${environment.name} back to an earlier one, its services held to their health gates`,
  });
}
