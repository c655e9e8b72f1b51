import * as proxmoxve from "@muhlba91/pulumi-proxmoxve";
import * as pulumi from "@pulumi/pulumi";

import { hostPart } from "../config/addresses";
import type { HostConfig } from "../config/schema";
import type { ContainerPlan } from "../plan/container-steps";
import { type ContainerOfSteps, RemoteStep, type StepContext } from "./remote-step";
import { componentToken } from "./token";

export interface ApiCredentials {
  readonly apiToken: pulumi.Output<string> | undefined;
  readonly apiPassword: pulumi.Output<string> | undefined;
}

/** The API of the host. One explicit provider a stack: values from the environment are not reliably picked up. */
export function proxmoxProvider(
  name: string,
  host: HostConfig,
  credentials: ApiCredentials,
  options?: pulumi.CustomResourceOptions,
): pulumi.ProviderResource {
  return new proxmoxve.Provider(
    name,
    {
      endpoint: `https://${host.address}:${host.api.port}/`,
      insecure: host.api.tls === "insecure",
      ...(credentials.apiToken === undefined
        ? // The provider wants a password even for a preview, which needs none; `up` is refused without a real one.
          { username: host.api.user, password: credentials.apiPassword ?? pulumi.secret("not set") }
        : { apiToken: credentials.apiToken }),
    },
    options,
  );
}

/**
 * The file of a container template on the host. Never overwritten: the provider would compare sizes at every refresh and
 * replace it on a difference.
 */
export function containerTemplate(
  name: string,
  node: string,
  plan: ContainerPlan,
  options: pulumi.CustomResourceOptions,
): pulumi.Resource {
  const { template } = plan.settings;
  return new proxmoxve.download.File(
    name,
    {
      nodeName: node,
      datastoreId: template.storage,
      contentType: "vztmpl",
      url: template.url,
      fileName: plan.templateFile,
      checksum: template.sha256,
      checksumAlgorithm: "sha256",
      overwrite: false,
    },
    // Other containers, also those of other stacks, may be made from it; destroy leaves it.
    { ...options, retainOnDelete: true },
  );
}

export interface GpuContainerArgs {
  readonly context: StepContext;
  readonly node: string;
  readonly plan: ContainerPlan;
  /** The template's file: a dependency in order, never in value (trap T3). */
  readonly template: pulumi.Resource;
  /** The container is made when no reboot is due any more, beside what prepares the cards; it starts when they are there. */
  readonly driver: { readonly ready: pulumi.Resource; readonly last: pulumi.Resource };
}

/**
 * Properties whose change the provider would answer by destroying the container or by breaking it, and why each is not
 * the provider's business. `proxmox.md` traps T1 to T6.
 */
const NOT_THE_PROVIDERS = [
  // T3, T1: only a new container is made from the template; another id would replace the old one.
  "operatingSystem.templateFileId",
  // T1: keys and password replace; keys are for the first log-in only.
  "initialization.userAccount",
  // T1, T4, T6: set over SSH by the attach step, read back by every refresh.
  "mountPoints",
  "devicePassthroughs",
  "features",
  // The attach step starts it when its devices are there; the provider would stop it.
  "started",
  // Never said: the provider would send its defaults to an imported container, and restart it for them.
  "console",
  // A stack file does not say them, an adopted container may have them: the provider would take them away, and restart the
  // container for those of the network.
  "cpu.limit",
  "cpu.units",
  "networkInterfaces[0].firewall",
  "networkInterfaces[0].mtu",
  "networkInterfaces[0].rateLimit",
  "networkInterfaces[0].vlanId",
  "initialization.ipConfigs[0].ipv6",
];

/**
 * An unprivileged LXC container with its GPUs, mounts and the driver's libraries.
 *
 * Resources in it are protected, and what would replace a container is either left to the steps or refused by Pulumi at
 * preview because of the protection.
 */
export class GpuContainer extends pulumi.ComponentResource {
  /** Id of the container on the host. */
  public readonly vmId: pulumi.Output<number>;
  /** Its IPv4 address, without the prefix length. */
  public readonly address: pulumi.Output<string>;
  /** The container's own resource: what lives inside it is deleted with it. */
  public readonly container: ContainerOfSteps;
  /** The last step: the container runs and CUDA works in it. */
  public readonly last: pulumi.Resource;

  constructor(name: string, args: GpuContainerArgs, options?: pulumi.ComponentResourceOptions) {
    super(componentToken("GpuContainer"), name, {}, options);
    const { plan, context } = args;
    const { settings } = plan;
    const { network } = settings;

    const claim = new RemoteStep(context, plan.claim, { parent: this });
    const container = new proxmoxve.ContainerLegacy(
      `${name}-container`,
      {
        nodeName: args.node,
        vmId: settings.vmId,
        unprivileged: settings.unprivileged,
        operatingSystem: { templateFileId: plan.templateId, type: plan.operatingSystem },
        cpu: { cores: settings.cores },
        memory: { dedicated: settings.memoryGiB * 1024, swap: settings.swapGiB * 1024 },
        disk: { datastoreId: settings.rootDisk.storage, size: settings.rootDisk.sizeGiB },
        initialization: {
          hostname: settings.hostname,
          ipConfigs: [{ ipv4: { address: network.address, gateway: network.gateway } }],
          ...(network.dns.length > 0 || network.searchDomain !== undefined
            ? {
                dns: {
                  servers: [...network.dns],
                  ...(network.searchDomain === undefined ? {} : { domain: network.searchDomain }),
                },
              }
            : {}),
          ...(settings.sshKeys.length > 0 ? { userAccount: { keys: [...settings.sshKeys] } } : {}),
        },
        networkInterfaces: [{ name: "eth0", bridge: network.bridge }],
        ...(settings.description === undefined ? {} : { description: settings.description }),
        // Proxmox VE sorts tags; unsorted ones would differ at every refresh.
        tags: [...settings.tags].sort(),
        startOnBoot: settings.startOnBoot,
        ...(settings.startupOrder === undefined ? {} : { startup: { order: settings.startupOrder } }),
        started: false,
        timeoutDelete: 300,
      },
      {
        parent: this,
        protect: settings.protect,
        dependsOn: [claim, args.template, args.driver.ready],
        // Never Pulumi's option `import`: the provider's own id differs from its import id, so the next update plans
        // to delete the adopted container as another one, and does not name the protection. Adoption is `pulumi import`.
        ignoreChanges: NOT_THE_PROVIDERS,
        // T1: create-before-delete would adopt the old container and then delete it.
        deleteBeforeReplace: true,
        aliases: [{ type: "proxmoxve:CT/container:Container" }],
      },
    );
    this.container = container;

    const inside = { parent: this, deletedWith: container };
    // T2: a failed change of the container is not seen by the provider; this looks at the container after every change.
    let last: pulumi.Resource = new RemoteStep(context, plan.attach, {
      ...inside,
      dependsOn: [container, args.driver.last],
    });
    for (const step of [plan.userland, plan.cuda]) {
      if (step) last = new RemoteStep(context, step, { ...inside, dependsOn: [last] });
    }

    this.last = last;
    this.vmId = container.vmId.apply((vmId) => vmId ?? settings.vmId);
    this.address = pulumi.output(hostPart(network.address));
    this.registerOutputs({ vmId: this.vmId, address: this.address });
  }
}
