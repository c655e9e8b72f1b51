/** Type tokens of the components. They are in every stack's state: never change one without an alias. */
export function componentToken(className: string): string {
  return `proxmox-gpu-stack:index:${className}`;
}
