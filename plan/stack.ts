import { evaluateHostRules, gpuByName, parseBuild, type Finding } from "../catalog";
import { NAMESPACE, type StackConfig } from "../config/schema";
import { planContainers, type ContainerPlan } from "./container-steps";
import { planEnvironments, type EnvironmentPlan } from "./environment-steps";
import { planDriver, type DriverPlan } from "./host-steps";
import { planModels, type ModelPlan } from "./model-steps";
import { planRouters, type RouterPlan } from "./router-steps";
import { planServices, type InferenceServicePlan } from "./service-steps";
import type { UnitPlan } from "./unit-step";
import type { Step } from "./step";
import { planToolkits, type ToolkitPlan } from "./toolkit-steps";
import { planWheels, type WheelPlan } from "./wheel-steps";
import { planWheelhouse } from "./wheelhouse-steps";

/** All that a stack does, as plain data. */
export interface StackPlan {
  readonly driver: DriverPlan;
  readonly models: readonly ModelPlan[];
  /** undefined for a stack without a wheelhouse. */
  readonly wheelhouse: Step | undefined;
  readonly containers: readonly ContainerPlan[];
  readonly toolkits: readonly ToolkitPlan[];
  /** Wheels that environments build from source. */
  readonly wheels: readonly WheelPlan[];
  readonly environments: readonly EnvironmentPlan[];
  readonly services: readonly InferenceServicePlan[];
  readonly routers: readonly RouterPlan[];
  /** What is known to fail or worth knowing about this stack; an unacknowledged error refuses a preview. */
  readonly findings: readonly Finding[];
}

/** Rules about the driver: its kernel modules and its version against the cards and the services' CUDA. */
function hostFindings(config: StackConfig): Finding[] {
  return evaluateHostRules({
    path: `${NAMESPACE}:driver`,
    driver: config.driver,
    gpus: Object.values(config.gpus).flatMap((gpu) => gpuByName(gpu.model) ?? []),
    builds: Object.values(config.services).flatMap(({ release }) =>
      release === undefined ? [] : (parseBuild(release) ?? []),
    ),
  });
}

/** Decides everything that can be decided without the host. `projectDirectory` holds `environments/`. */
export function planStack(config: StackConfig, projectDirectory: string): StackPlan {
  const environments = planEnvironments(config, projectDirectory);
  const services = planServices(config, environments, projectDirectory);
  const models = planModels(config, projectDirectory);
  return {
    driver: planDriver(config),
    models,
    wheelhouse: planWheelhouse(config, projectDirectory),
    containers: planContainers(config),
    toolkits: planToolkits(config),
    wheels: planWheels(config, projectDirectory),
    environments,
    services,
    routers: planRouters(config, environments),
    findings: [
      ...hostFindings(config),
      ...models.flatMap(({ findings }) => findings),
      ...services.flatMap(({ plan }) => plan.findings),
    ],
  };
}

/** Every step in the order in which a first `up` can run them. */
export function allSteps(plan: StackPlan): Step[] {
  const { kernel, kernelReady, install, ready, boot } = plan.driver;
  return [
    kernel,
    kernelReady,
    install,
    ready,
    boot,
    ...plan.models.map((model) => model.step),
    ...(plan.wheelhouse === undefined ? [] : [plan.wheelhouse]),
    ...plan.containers.flatMap(({ claim, attach, userland, cuda }) =>
      [claim, attach, userland, cuda].filter((step) => step !== undefined),
    ),
    ...plan.toolkits.map((toolkit) => toolkit.step),
    ...plan.wheels.flatMap(({ step, share }) => (share === undefined ? [step] : [step, share])),
    ...plan.environments.flatMap(({ step, share }) => (share === undefined ? [step] : [step, share])),
    ...unitsOf(plan).map((unit) => unit.step),
  ];
}

/** All that runs as a unit in a container: services, then the routers in front of them. */
export function unitsOf(plan: StackPlan): UnitPlan[] {
  return [...plan.services, ...plan.routers];
}
