import * as pulumi from "@pulumi/pulumi";

import type { ModelPlan } from "../plan/model-steps";
import { RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface ModelSnapshotArgs {
  readonly context: StepContext;
  /** A changed revision fetches what differs, verifies it and switches the folder. */
  readonly plan: ModelPlan;
  /** What must be done first. Stated for the step itself, so that destroy keeps the order too. */
  readonly after: readonly pulumi.Resource[];
}

/** A model's files of one pinned revision on the host, verified and read-only; containers mount them. */
export class ModelSnapshot extends pulumi.ComponentResource {
  /** Commit of the repository. */
  public readonly revision: pulumi.Output<string>;
  public readonly last: pulumi.Resource;

  constructor(name: string, args: ModelSnapshotArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("ModelSnapshot"), name, {}, options);
    const snapshot = new RemoteStep(args.context, args.plan.step, {
      parent: this,
      dependsOn: [...args.after],
    });
    this.last = snapshot;
    this.revision = snapshot.fact("revision");
    this.registerOutputs({ revision: this.revision });
  }
}
