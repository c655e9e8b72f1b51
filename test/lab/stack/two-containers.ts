import type { LabStack } from "./lab-stack";

type Entry = Record<string, unknown>;

/**
 * Changes a lab's stack to two containers with a card and an environment each: `ml` (129) with `ml-env` as before, `second`
 * (130) with `second-env`.
 *
 * @param services of both; each gets what the lab's service `qwen` has and is not stated
 */
export function useTwoContainers(stack: LabStack, services: Readonly<Record<string, Entry>>): void {
  stack.edit((file) => {
    const { ml } = file.containers as Record<string, Entry>;
    const { "ml-env": environment } = file.environments as Record<string, Entry>;
    const { qwen } = file.services as Record<string, Entry>;
    const network = { ...(ml?.network as object), address: `${stack.subnet}.130/24` };
    file.containers = {
      ml: { ...ml, gpus: ["a6000-0"] },
      second: { ...ml, vmId: 130, network, gpus: ["a6000-1"] },
    };
    file.environments = { "ml-env": environment, "second-env": { ...environment, container: "second" } };
    file.services = Object.fromEntries(
      Object.entries(services).map(([name, own]) => [name, { ...qwen, ...own }]),
    );
  });
}
