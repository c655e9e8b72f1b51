import * as pulumi from "@pulumi/pulumi";

import type { Step } from "../plan/step";
import { RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface WheelhouseArgs {
  readonly context: StepContext;
  /** A changed lock names other files: what is missing is fetched and verified. */
  readonly step: Step;
  /** What must be done first. */
  readonly after: readonly pulumi.Resource[];
}

/** Every file that the stack's locks name, on the host and verified; containers build from it with no network. */
export class Wheelhouse extends pulumi.ComponentResource {
  public readonly last: pulumi.Resource;

  constructor(name: string, args: WheelhouseArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("Wheelhouse"), name, {}, options);
    this.last = new RemoteStep(args.context, args.step, { parent: this, dependsOn: [...args.after] });
    this.registerOutputs({});
  }
}
