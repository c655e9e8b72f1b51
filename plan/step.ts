/**
 * One step of a stack: a script that runs on the host or in a container, with its arguments.
 * Plain data: the same list becomes Pulumi resources, the rendered steps.md and the drift check.
 */
export interface Step {
  /** Name of the resource, e.g. `ml-attach`; unique in a stack, made of configuration names only. */
  readonly name: string;
  /** Where the script runs. */
  readonly target: StepTarget;
  /** Script below `scripts/` without its ending, e.g. `host/kernel`. */
  readonly script: string;
  /** What the create line shows; a changed value previews as this step. No secrets. */
  readonly args: Readonly<Record<string, string>>;
  /** Texts that travel with the script on standard input; the create line carries their digest. */
  readonly texts: Readonly<Record<string, string>>;
  /** Names of secret configuration values that the script gets on standard input when they are set. */
  readonly secrets: readonly SecretName[];
  /** How long the step may take before Pulumi gives it up, in minutes; waiting for a reboot included. */
  readonly timeoutMinutes: number;
  /** True for a step that follows a reboot: it dials until the machine answers or its time is over. */
  readonly dialsUntilTimeout: boolean;
  /** True when the script has a mode `remove`, run when the step leaves the stack. */
  readonly removable: boolean;
  /** What it does, in one line for a person. */
  readonly summary: string;
}

export type StepTarget = { readonly kind: "host" } | { readonly kind: "container"; readonly vmId: number };

export const SECRET_NAMES = ["huggingFaceToken", "serviceApiKey"] as const;
export type SecretName = (typeof SECRET_NAMES)[number];

/** Fills in what most steps leave at its default. */
export function step(
  parts: Pick<Step, "name" | "target" | "script" | "summary" | "timeoutMinutes"> & Partial<Step>,
): Step {
  return { args: {}, texts: {}, secrets: [], dialsUntilTimeout: false, removable: false, ...parts };
}

export const HOST: StepTarget = { kind: "host" };

export function inContainer(vmId: number): StepTarget {
  return { kind: "container", vmId };
}
