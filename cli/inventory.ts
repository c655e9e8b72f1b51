import { existsSync } from "node:fs";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { hostFacts, inventoryStep, type HostFacts } from "./inventory/host-facts";
import { stackFileText } from "./inventory/stack-file";
import { lookAt, SshError, type SshTarget } from "./remote/ssh";

export interface InventoryOptions {
  readonly identity?: string;
  readonly hostKey?: string;
  readonly json?: boolean;
}

/** The address in `root@HOST`; only root may see and do what a stack needs. */
function addressOf(target: string): string {
  const [user, address] = target.includes("@") ? target.split("@") : ["root", target];
  if (user !== "root")
    throw new UsageError(`"${target}": the host is looked at as root; write root@${address ?? "HOST"}`);
  if (address === undefined || !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(address))
    throw new UsageError(`"${target}" is no host: write root@ADDRESS, with an IPv4 address or a name`);
  return address;
}

/** Options that ssh would answer in its own way, or only with a warning. */
function checkOptions({ identity, hostKey }: InventoryOptions): void {
  if (identity !== undefined && !existsSync(identity))
    throw new UsageError(`--identity ${identity}: there is no such file`);
  if (hostKey !== undefined && !/^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp\d+) [A-Za-z0-9+/]+=*$/.test(hostKey))
    throw new UsageError(`--host-key "${hostKey}" must be a public key without a comment: ssh-ed25519 AAAA…`);
}

/**
 * What a host has.
 *
 * @throws SshError when the host cannot be looked at, or is no Proxmox VE host
 */
export async function factsOf(target: SshTarget, step = inventoryStep()): Promise<HostFacts> {
  const facts = hostFacts(await lookAt(target, step));
  if (facts.pve === "")
    throw new SshError(
      `${target.address} is no Proxmox VE host: it has no pveversion`,
      "name a host with Proxmox VE 8.1 or newer",
      EXIT.problems,
    );
  return facts;
}

/**
 * The host that a command line names, `root@HOST`.
 *
 * @throws UsageError when it names none, or an option makes no sense
 */
export function hostTarget(host: string, options: InventoryOptions): SshTarget {
  const address = addressOf(host);
  checkOptions(options);
  const { identity, hostKey } = options;
  return {
    address,
    ...(identity === undefined ? {} : { identity }),
    ...(hostKey === undefined ? {} : { hostKey }),
  };
}

/** `./stack inventory root@HOST [--json]`: what a host has, as a stack file with comments. */
export async function inventory(host: string, options: InventoryOptions): Promise<ExitCode> {
  const target = hostTarget(host, options);
  const facts = await factsOf(target);
  process.stdout.write(
    options.json === true ? `${JSON.stringify(facts, null, 2)}\n` : stackFileText(target.address, facts),
  );
  return EXIT.fine;
}
