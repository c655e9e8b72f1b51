import type { UnitInput } from "./types";

/** First lines of every file: who wrote it, and that an edit does not last. */
export function banner({ node, name }: Pick<UnitInput, "node" | "name">): string {
  return [
    `# Managed by proxmox-gpu-stack: host ${node}, service ${name}.`,
    "# A change made here is drift; the next `up` undoes it. Change the stack file instead.",
  ].join("\n");
}
