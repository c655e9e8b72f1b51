import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";

import { stepCommand, stepInput } from "../plan/script";
import type { SecretName, Step } from "../plan/step";

/** How the host is reached over SSH. One typed value: unknown keys in a connection can leak the private key. */
export interface HostConnection {
  readonly host: string;
  readonly port: number;
  /** `ssh-ed25519 AAAA…`; undefined only where the owner wrote `hostKey: insecure`. */
  readonly hostKey: string | undefined;
  /** Without it, the SSH agent is used. */
  readonly privateKey: pulumi.Output<string> | undefined;
}

/** Everything that steps of one stack share. */
export interface StepContext {
  readonly connection: HostConnection;
  /** Values of the secrets that the stack has. */
  readonly secrets: Readonly<Partial<Record<SecretName, pulumi.Output<string>>>>;
}

/** What a step says in the last line of its standard output. */
export type StepFacts = Readonly<Record<string, unknown>>;

/** A container's resource, as far as steps need it. */
export interface ContainerOfSteps extends pulumi.Resource {
  readonly networkInterfaces: pulumi.Output<readonly { readonly macAddress?: string }[] | undefined>;
}

export interface RemoteStepOptions extends Pick<
  pulumi.ComponentResourceOptions,
  "parent" | "dependsOn" | "aliases"
> {
  /**
   * The container that the step belongs to: the step goes with it, without a word to it, and runs again in a container that
   * was made anew.
   */
  readonly deletedWith?: ContainerOfSteps;
}

/**
 * The JSON object in the last line; a step that ends without one is a fault of its script. A step that was never run,
 * because `--target` or `--exclude` left it out, has no output and no facts.
 */
export function parseFacts(stdout: string | undefined): StepFacts {
  if (stdout === undefined) return {};
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  const facts: unknown = JSON.parse(line);
  if (typeof facts !== "object" || facts === null || Array.isArray(facts)) {
    throw new Error(`the last line of a step must be a JSON object, not: ${line}`);
  }
  return facts as StepFacts;
}

function connectionArgs({ connection }: StepContext, step: Step) {
  return {
    host: connection.host,
    port: connection.port,
    user: "root",
    ...(connection.hostKey === undefined ? {} : { hostKey: connection.hostKey }),
    ...(connection.privateKey === undefined ? {} : { privateKey: connection.privateKey }),
    // A step after a reboot dials until its time is over; others give up after about eleven seconds.
    dialErrorLimit: step.dialsUntilTimeout ? -1 : 10,
    perDialTimeout: 15,
  };
}

/**
 * The script, with the container it is meant for in its first line: by its MAC address, which Proxmox VE makes up for each
 * container and a restored backup keeps. So what runs in a container differs, and runs again, when that is another one.
 */
function addressedTo(
  container: ContainerOfSteps | undefined,
  script: pulumi.Input<string>,
): pulumi.Input<string> {
  if (container === undefined) return script;
  return pulumi.all([script, container.networkInterfaces]).apply(([text, interfaces]) => {
    const address = interfaces?.[0]?.macAddress;
    return address === undefined ? text : `# for the container ${address}\n${text}`;
  });
}

/** The script with its values; a secret output as soon as a secret is among them. */
function input(context: StepContext, step: Step): pulumi.Input<string> {
  const secrets = step.secrets.flatMap((name) => {
    const value = context.secrets[name];
    return value === undefined ? [] : [{ name, value }];
  });
  if (secrets.length === 0) return stepInput(step);
  return pulumi.secret(
    pulumi
      .all(secrets.map(({ value }) => value))
      .apply((values) =>
        stepInput(step, Object.fromEntries(secrets.map(({ name }, i) => [name, values[i] ?? ""]))),
      ),
  );
}

/**
 * One step on the host or in a container: a script on standard input, its arguments in one readable line.
 *
 * An update runs the script again; it is idempotent, so a change of the connection alone changes nothing on the machine.
 * There are no triggers: they would replace, and a replacement runs the old version's removal after the new version's
 * creation. A step in a container must be given `deletedWith`, so that nothing dials a container that goes and a new
 * container is filled.
 */
export class RemoteStep extends command.remote.Command {
  /** What the script reported: see the header of each script. */
  public readonly facts: pulumi.Output<StepFacts>;

  constructor(context: StepContext, step: Step, options: RemoteStepOptions) {
    const timeout = `${step.timeoutMinutes}m`;
    super(
      step.name,
      {
        connection: connectionArgs(context, step),
        create: stepCommand(step),
        ...(step.removable ? { delete: stepCommand(step, "remove") } : {}),
        stdin: addressedTo(options.deletedWith, input(context, step)),
        logging: command.remote.Logging.Stderr,
        addPreviousOutputInEnv: false,
      },
      {
        ...options,
        // The line above carries a digest of the script, so a change is visible without hundreds of lines.
        hideDiffs: ["stdin"],
        customTimeouts: { create: timeout, update: timeout, delete: "10m" },
      },
    );
    this.facts = this.stdout.apply(parseFacts);
  }

  /** One fact as text; "unknown" as long as the step was not run. */
  public fact(name: string): pulumi.Output<string> {
    return this.facts.apply((facts) => (facts[name] === undefined ? "unknown" : String(facts[name])));
  }
}
