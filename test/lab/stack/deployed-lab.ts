import { LabStack } from "./lab-stack";
import { startPrepared } from "./prepared-state";

/**
 * A lab for the tests of one file whose host has driver, container, model and environment of Pulumi.lab.yaml already, and
 * no service yet: for tests of what comes after. The state is made by the first file that needs it and kept for as long as
 * the checkout's inputs stay the same; the way there belongs to tests that start from a bare host.
 */
export function usePreparedLab(): LabStack {
  const stack = new LabStack();
  jest.setTimeout(600_000);
  beforeAll(() => {
    startPrepared(stack);
  });
  afterAll(() => {
    stack.down();
  });
  return stack;
}

/** The same with the service: deployed as a whole before the first test. */
export function useDeployedLab(): LabStack {
  const stack = usePreparedLab();
  beforeAll(() => {
    stack.deploy();
  });
  return stack;
}
