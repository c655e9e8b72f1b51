import * as pulumi from "@pulumi/pulumi";

import type { UnitPlan } from "../plan/unit-step";
import { type ContainerOfSteps, RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface InferenceServiceArgs {
  readonly context: StepContext;
  /** A changed argument, environment, model or driver restarts the server and holds it to its gate again. */
  readonly plan: UnitPlan;
  /** What must be done first. */
  readonly after: readonly pulumi.Resource[];
  /** The container goes: nothing is dialled to stop the service. */
  readonly deletedWith: ContainerOfSteps;
}

/** An SGLang server, or a router in front of some, as a systemd unit in a container, healthy or rolled back. */
export class InferenceService extends pulumi.ComponentResource {
  /** Where clients reach it, e.g. `http://10.1.2.129:30000`; known only when it is healthy. */
  public readonly url: pulumi.Output<string>;
  /** Repeats the health gate by hand, on the host. */
  public readonly probeCommand: pulumi.Output<string>;
  /** What whoever needs it running waits for. */
  public readonly last: pulumi.Resource;

  constructor(name: string, args: InferenceServiceArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("InferenceService"), name, {}, options);
    const { plan } = args;
    const service = new RemoteStep(args.context, plan.step, {
      parent: this,
      dependsOn: [...args.after],
      deletedWith: args.deletedWith,
    });
    this.last = service;
    this.url = service.facts.apply(() => plan.url);
    this.probeCommand = service.facts.apply(() => plan.probeCommand);
    this.registerOutputs({ url: this.url, probeCommand: this.probeCommand });
  }
}
