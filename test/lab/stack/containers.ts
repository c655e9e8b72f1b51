import type { LabStack } from "./lab-stack";

/** The containers of a stack file, by name. */
export type Containers = Record<string, Record<string, unknown>>;

/** What tests of containers do with a lab's stack. */
export function containersOf(stack: LabStack) {
  return {
    /** Changes containers of the stack file. */
    edit(change: (all: Containers) => void): void {
      stack.edit((file) => {
        change(file.containers as Containers);
      });
    },

    /** A container's configuration as Proxmox VE prints it. */
    config(id = 129): string {
      return stack.onHost(`pct config ${id}`);
    },

    /** Asserts that the stack has nothing to do, also after everything was read back. */
    expectNoDrift(): void {
      expect(stack.pulumi("preview", "--refresh", "--expect-no-changes")).toMatchObject({ status: 0 });
    },
  };
}
