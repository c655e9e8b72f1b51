import { TOOLKIT_COMPONENTS, type ToolkitConfig } from "../config/schema/toolkits";
import type { EnvironmentConfig, StackConfig } from "../config/schema";
import { shortDigest } from "./script";
import { inContainer, step, type Step } from "./step";

/** One toolkit in one container. */
export interface ToolkitPlan {
  /** Name of the component, `<container>-<name>`; its step is `<container>-<name>-toolkit`. */
  readonly name: string;
  /** Name in the stack file. */
  readonly toolkit: string;
  readonly container: string;
  /** CUDA_HOME. */
  readonly path: string;
  readonly step: Step;
}

const ROOT = "/opt/proxmox-gpu-stack/toolkits";

type Component = (typeof TOOLKIT_COMPONENTS)[number];

/** Folders that the installers of CUDA 13 have and those before did not: parts of cuda_nvcc until then. */
const SINCE_13: readonly Component[] = ["cuda_crt", "libnvvm"];

/** Of no use to torch's CMake files. */
const ON_REQUEST: readonly Component[] = [
  "cuda_cuobjdump",
  "cuda_cupti",
  "cuda_nvdisasm",
  "libcufile",
  "libnvptxcompiler",
];

/** CUDA_HOME of a toolkit. */
export function toolkitPath(toolkit: ToolkitConfig): string {
  return `${ROOT}/cuda-${toolkit.version}`;
}

/** The components that are installed, sorted: those stated, or what compiling against torch needs. */
export function toolkitComponents(toolkit: ToolkitConfig): string[] {
  const old = Number(toolkit.version.split(".")[0]) < 13;
  const standard = TOOLKIT_COMPONENTS.filter(
    (name) => !ON_REQUEST.includes(name) && !(old && SINCE_13.includes(name)),
  );
  return [...(toolkit.components ?? standard)].sort();
}

/** Identifies what a toolkit installs. */
export function toolkitDigest(toolkit: ToolkitConfig): string {
  return shortDigest(toolkit.version, toolkit.installer.sha256, toolkitComponents(toolkit).join(","));
}

/** The toolkit that an environment selects. */
export function toolkitOf(config: StackConfig, environment: EnvironmentConfig): ToolkitConfig | undefined {
  return environment.toolkit === undefined ? undefined : config.toolkits[environment.toolkit];
}

/** Every toolkit in every container with an environment that selects it. */
export function planToolkits(config: StackConfig): ToolkitPlan[] {
  const plans = new Map<string, ToolkitPlan>();
  for (const environment of Object.values(config.environments)) {
    const toolkit = toolkitOf(config, environment);
    const container = config.containers[environment.container];
    if (toolkit === undefined || environment.toolkit === undefined || container === undefined) continue;
    const name = `${environment.container}-${environment.toolkit}`;
    const path = toolkitPath(toolkit);
    const components = toolkitComponents(toolkit);
    plans.set(name, {
      name,
      toolkit: environment.toolkit,
      container: environment.container,
      path,
      step: step({
        name: `${name}-toolkit`,
        target: inContainer(container.vmId),
        script: "container/cuda-toolkit",
        args: {
          version: toolkit.version,
          path,
          url: toolkit.installer.url,
          sha256: toolkit.installer.sha256,
          components: components.join(","),
          digest: toolkitDigest(toolkit),
        },
        timeoutMinutes: 120,
        removable: true,
        summary: `CUDA toolkit ${toolkit.version}: ${components.length} components of its checksummed installer, beside others`,
      }),
    });
  }
  return [...plans.values()];
}
