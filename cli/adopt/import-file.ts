/** What `pulumi import --file` reads to take containers into a stack's state. */

const TYPE = "proxmoxve:index/containerLegacy:ContainerLegacy";

export const providerUrn = (stack: string): string =>
  `urn:pulumi:${stack}::proxmox-gpu-stack::pulumi:providers:proxmoxve::proxmox`;

/** @param containers names in the stack file, with their ids */
export function importFile(
  stack: string,
  node: string,
  containers: readonly { name: string; id: string }[],
): object {
  return {
    nameTable: { proxmox: providerUrn(stack) },
    resources: containers.flatMap(({ name, id }) => [
      { type: "proxmox-gpu-stack:index:GpuContainer", name, component: true },
      { type: TYPE, name: `${name}-container`, id: `${node}/${id}`, parent: name, provider: "proxmox" },
    ]),
  };
}
