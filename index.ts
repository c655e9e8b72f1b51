import * as pulumi from "@pulumi/pulumi";

import { CudaToolkit } from "./components/cuda-toolkit";
import { GpuContainer, containerTemplate, proxmoxProvider } from "./components/gpu-container";
import { InferenceService } from "./components/inference-service";
import { KernelWheel } from "./components/kernel-wheel";
import { MlEnv } from "./components/ml-env";
import { ModelSnapshot } from "./components/model-snapshot";
import { NvidiaDriver } from "./components/nvidia-driver";
import { entry, loadProgram } from "./components/program";
import { Wheelhouse } from "./components/wheelhouse";
import { unitsOf } from "./plan/stack";

const { config, plan, context, credentials } = loadProgram();

const driver = new NvidiaDriver("driver", { context, plan: plan.driver });

// Not before its reboot, which would cut a download off.
const models = Object.fromEntries(
  plan.models.map((model) => [
    model.name,
    new ModelSnapshot(model.name, { context, plan: model, after: [driver.ready] }),
  ]),
);

const wheelhouse =
  plan.wheelhouse === undefined
    ? []
    : [new Wheelhouse("wheelhouse", { context, step: plan.wheelhouse, after: [driver.ready] }).last];

const provider = proxmoxProvider("proxmox", config.host, credentials);
const templates: Record<string, pulumi.Resource> = {};
const containers: Record<string, GpuContainer> = {};
for (const container of plan.containers) {
  // Containers from the same template share its file.
  const template = (templates[container.templateId] ??= containerTemplate(
    `template-${container.templateFile}`,
    config.host.node,
    container,
    { provider },
  ));
  containers[container.name] = new GpuContainer(
    container.name,
    { context, node: config.host.node, plan: container, template, driver },
    { providers: [provider] },
  );
}

const toolkits = plan.toolkits.map((toolkit) => {
  const container = entry(containers, toolkit.container);
  return {
    container: toolkit.container,
    last: new CudaToolkit(toolkit.name, {
      context,
      plan: toolkit,
      after: [container.last, ...wheelhouse],
      deletedWith: container.container,
    }).last,
  };
});

// A wheel that two environments need is built for the first and shared before the second asks for it.
const sameWheel: Record<string, pulumi.Resource[]> = {};
const wheels = plan.wheels.map((wheel) => {
  const container = entry(containers, wheel.container);
  const earlier = (sameWheel[wheel.digest] ??= []);
  const { last } = new KernelWheel(wheel.name, {
    context,
    plan: wheel,
    after: [
      container.last,
      ...wheelhouse,
      ...toolkits.filter((toolkit) => toolkit.container === wheel.container).map((toolkit) => toolkit.last),
      ...earlier,
    ],
    deletedWith: container.container,
  });
  earlier.push(last);
  return { environment: wheel.environment, last };
});

const environments: Record<string, MlEnv> = {};
for (const environment of plan.environments) {
  const container = entry(containers, environment.container);
  // The one that is shared stands before those that link to it.
  const share =
    environment.sharedFrom === undefined ? undefined : entry(environments, environment.sharedFrom).shared;
  environments[environment.name] = new MlEnv(environment.name, {
    context,
    plan: environment,
    after: [
      container.last,
      ...wheelhouse,
      ...(share === undefined ? [] : [share]),
      ...wheels.filter((wheel) => wheel.environment === environment.name).map((wheel) => wheel.last),
      // Its services find the compiler in CUDA_HOME.
      ...toolkits
        .filter((toolkit) => toolkit.container === environment.container)
        .map((toolkit) => toolkit.last),
    ],
    deletedWith: container.container,
  });
}

const services = plan.services.map(
  (service) =>
    new InferenceService(service.name, {
      context,
      plan: service,
      after: [
        entry(environments, service.service.environment).last,
        ...[service.service.model, service.service.speculative?.draftModel]
          .filter((name) => name !== undefined)
          .map((name) => entry(models, name).last),
      ],
      deletedWith: entry(containers, service.service.container).container,
    }),
);

// Behind the replicas of this stack: its health gate asks every one.
const routers = plan.routers.map((router) => {
  const names = router.service.replicas.map(({ service }) => service);
  return new InferenceService(router.name, {
    context,
    plan: router,
    after: [
      entry(environments, router.service.environment).last,
      ...services.filter((_, i) => names.includes(plan.services[i]?.name)).map((service) => service.last),
    ],
    deletedWith: entry(containers, router.service.container).container,
  });
});

/** Services and routers that run; the others only have their files in place. */
const units = [...services, ...routers];
const running = unitsOf(plan)
  .map((unit, i) => [unit, units[i]] as const)
  .filter(([unit]) => unit.service.enabled);

const byName = <T, R>(entries: Readonly<Record<string, T>>, value: (entry: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(entries).map(([name, item]) => [name, value(item)]));

/** Version of NVIDIA's driver, on the host and in every container with GPUs. */
export const driverVersion = driver.version;
/** Id and address of each container. */
export const containerAddresses = byName(containers, ({ vmId, address }) => ({ vmId, address }));
/** Content address of each Python environment. */
export const environmentDigests = byName(environments, (environment) => environment.digest);
/** Commit of each model. */
export const modelRevisions = byName(models, (model) => model.revision);
/** Where each service and each router answers; a node above rank 0 does not. */
const answering = running.filter(([{ name }]) => (config.services[name]?.nodes?.rank ?? 0) === 0);
export const endpoints = Object.fromEntries(answering.map(([{ name }, service]) => [name, service?.url]));
/** Commands that repeat each one's health gate, to be run on the host. */
export const healthChecks = Object.fromEntries(
  running.map(([{ name }, service]) => [name, service?.probeCommand]),
);
