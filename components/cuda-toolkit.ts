import * as pulumi from "@pulumi/pulumi";

import type { ToolkitPlan } from "../plan/toolkit-steps";
import { type ContainerOfSteps, RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface CudaToolkitArgs {
  readonly context: StepContext;
  /** A changed version installs a second toolkit; the first goes when the configuration no longer names it. */
  readonly plan: ToolkitPlan;
  /** What must be done first. */
  readonly after: readonly pulumi.Resource[];
  /** The container goes: nothing is dialled to take the toolkit away. */
  readonly deletedWith: ContainerOfSteps;
}

/** The parts of one CUDA toolkit that compiling needs, in one container, beside other versions. */
export class CudaToolkit extends pulumi.ComponentResource {
  /** CUDA_HOME of what is compiled with it. */
  public readonly path: pulumi.Output<string>;
  public readonly last: pulumi.Resource;

  constructor(name: string, args: CudaToolkitArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("CudaToolkit"), name, {}, options);
    const installed = new RemoteStep(args.context, args.plan.step, {
      parent: this,
      dependsOn: [...args.after],
      deletedWith: args.deletedWith,
    });
    this.last = installed;
    this.path = installed.fact("path");
    this.registerOutputs({ path: this.path });
  }
}
