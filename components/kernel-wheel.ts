import * as pulumi from "@pulumi/pulumi";

import type { WheelPlan } from "../plan/wheel-steps";
import { type ContainerOfSteps, RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface KernelWheelArgs {
  readonly context: StepContext;
  /** Another digest builds another wheel; the old one stays for environments that are rolled back to. */
  readonly plan: WheelPlan;
  /** What must be done first: the toolkit, the wheelhouse, and an earlier build of the same wheel. */
  readonly after: readonly pulumi.Resource[];
  /** The container goes: nothing is dialled to take the wheel away. */
  readonly deletedWith: ContainerOfSteps;
}

/** A wheel from pinned sources and our patches, built once for all containers and hosts that share a wheelhouse. */
export class KernelWheel extends pulumi.ComponentResource {
  /** Where it came from: `build`, `wheelhouse`, or `kept` when it was there. */
  public readonly origin: pulumi.Output<string>;
  public readonly last: pulumi.Resource;

  constructor(name: string, args: KernelWheelArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("KernelWheel"), name, {}, options);
    const { context, plan, deletedWith } = args;
    const built = new RemoteStep(context, plan.step, {
      parent: this,
      dependsOn: [...args.after],
      deletedWith,
    });
    this.last =
      plan.share === undefined
        ? built
        : new RemoteStep(context, plan.share, { parent: this, dependsOn: [built], deletedWith });
    this.origin = built.fact("from");
    this.registerOutputs({ origin: this.origin });
  }
}
