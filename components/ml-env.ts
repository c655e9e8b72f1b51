import * as pulumi from "@pulumi/pulumi";

import type { EnvironmentPlan } from "../plan/environment-steps";
import { type ContainerOfSteps, RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface MlEnvArgs {
  readonly context: StepContext;
  /** A changed lock builds a new environment beside the old one; services on it restart. */
  readonly plan: EnvironmentPlan;
  /** What must be done first. */
  readonly after: readonly pulumi.Resource[];
  /** The container goes: nothing is dialled to take the environment away. */
  readonly deletedWith: ContainerOfSteps;
}

/** A Python environment from a hashed lock, built aside at a content address and switched by one rename. */
export class MlEnv extends pulumi.ComponentResource {
  /** Content address of the environment in use. */
  public readonly digest: pulumi.Output<string>;
  /** Ready for the services of its container. */
  public readonly last: pulumi.Resource;
  /** Ready for other containers; undefined where no other has the same environment. */
  public readonly shared: pulumi.Resource | undefined;

  constructor(name: string, args: MlEnvArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("MlEnv"), name, {}, options);
    const built = new RemoteStep(args.context, args.plan.step, {
      parent: this,
      dependsOn: [...args.after],
      deletedWith: args.deletedWith,
    });
    this.last = built;
    this.shared =
      args.plan.share === undefined
        ? undefined
        : new RemoteStep(args.context, args.plan.share, {
            parent: this,
            dependsOn: [built],
            deletedWith: args.deletedWith,
          });
    this.digest = built.fact("digest");
    this.registerOutputs({ digest: this.digest });
  }
}
