import { banner } from "./banner";
import { servicePaths } from "./paths";
import { environmentLine } from "./quote";
import type { UnitInput } from "./types";

/** PATH of what runs in a container. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Variables that every server gets. Caches of compiled kernels lie in HOME: without them the first sampled request after a
 * start freezes the scheduler for minutes. TorchInductor's would lie in /tmp, which is private and lost at a restart.
 */
function commonVariables(input: UnitInput): Record<string, string> {
  const { home } = servicePaths(input.name);
  const cuda = input.environment["CUDA_HOME"];
  const path = [`${input.environmentPath}/bin`, ...(cuda === undefined ? [] : [`${cuda}/bin`]), SYSTEM_PATH];
  return {
    CUDA_DEVICE_ORDER: "PCI_BUS_ID",
    ...(input.visibleGpus === undefined ? {} : { CUDA_VISIBLE_DEVICES: input.visibleGpus.join(",") }),
    HF_HUB_OFFLINE: "1",
    HOME: home,
    LANG: "C.UTF-8",
    PATH: path.join(":"),
    PYTHONUNBUFFERED: "1",
    TORCHINDUCTOR_CACHE_DIR: `${home}/.cache/torchinductor`,
    TRITON_CACHE_DIR: `${home}/.triton/cache`,
    XDG_CACHE_HOME: `${home}/.cache`,
  };
}

/** The environment file of a service, sorted; the stack's own variables win. */
export function renderEnvironmentFile(input: UnitInput): string {
  const variables = { ...commonVariables(input), ...input.environment };
  const lines = Object.keys(variables)
    .sort()
    .map((name) => environmentLine(name, variables[name] ?? ""));
  return `${[banner(input), ...lines].join("\n")}\n`;
}
