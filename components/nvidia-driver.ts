import * as pulumi from "@pulumi/pulumi";

import type { DriverPlan } from "../plan/host-steps";
import { RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface NvidiaDriverArgs {
  readonly context: StepContext;
  /** A changed version or kind of modules rebuilds them; where others hold the old ones, the host is rebooted. */
  readonly plan: DriverPlan;
}

/**
 * NVIDIA's driver on the host: headers, nouveau out, the pinned driver by DKMS, the reboot where one is needed, and the
 * boot unit that makes device nodes and gives each container its cards.
 */
export class NvidiaDriver extends pulumi.ComponentResource {
  /** Version that is loaded, e.g. `580.105.08`. */
  public readonly version: pulumi.Output<string>;
  /** Kernel release that the host runs. */
  public readonly kernel: pulumi.Output<string>;
  /** The driver is loaded and no reboot is due any more: whoever needs a host that stays up waits for it. */
  public readonly ready: pulumi.Resource;
  /** The last step: whoever needs the GPUs waits for it. */
  public readonly last: pulumi.Resource;

  constructor(name: string, args: NvidiaDriverArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("NvidiaDriver"), name, {}, options);
    const { kernel, kernelReady, install, ready, boot } = args.plan;
    let before: RemoteStep | undefined;
    // Each waits for the one before it: a reboot may lie between any two of them.
    const run = (step: typeof kernel): RemoteStep => {
      before = new RemoteStep(args.context, step, {
        parent: this,
        ...(before === undefined ? {} : { dependsOn: [before] }),
      });
      return before;
    };
    run(kernel);
    run(kernelReady);
    const installed = run(install);
    const loaded = run(ready);
    this.ready = loaded;
    this.last = run(boot);
    this.version = installed.fact("version");
    this.kernel = loaded.fact("kernel");
    this.registerOutputs({ version: this.version, kernel: this.kernel });
  }
}
