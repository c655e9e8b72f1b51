import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/** First two octets of the networks of tests' labs. */
const NETWORKS = "10.80";

/** Who has which network, for all test runs of this machine. */
const CLAIMS = "/run/lock/proxmox-gpu-stack-tests";

/** A claim is a link, which is made whole or not at all; with this before the lab's folder nobody can follow it. */
const MARK = "lab:";

/** Folders of the labs that have a network, by its first three octets. */
export function networkHolders(): Map<string, string> {
  const claims = existsSync(CLAIMS) ? readdirSync(CLAIMS) : [];
  return new Map(
    claims.flatMap((subnet) => {
      try {
        return [[subnet, readlinkSync(join(CLAIMS, subnet)).slice(MARK.length)]];
      } catch {
        // Given back just now.
        return [];
      }
    }),
  );
}

function claim(subnet: string, folder: string): boolean {
  // The bridge of a lab whose test was killed.
  if (existsSync(`/sys/class/net/lab${subnet.replaceAll(".", "-")}`)) return false;
  const link = join(CLAIMS, subnet);
  const holder = networkHolders().get(subnet);
  if (holder !== undefined && !existsSync(holder)) rmSync(link, { force: true });
  try {
    symlinkSync(MARK + folder, link);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Takes the first network that no lab and no other test has.
 *
 * @param folder the lab's, which exists; the network is free again when it is gone
 * @returns first three octets
 */
export function takeNetwork(folder: string): string {
  mkdirSync(CLAIMS, { recursive: true });
  for (let third = 1; third < 255; third++) {
    const subnet = `${NETWORKS}.${third}`;
    if (claim(subnet, folder)) return subnet;
  }
  throw new Error(`every network from ${NETWORKS}.1 to ${NETWORKS}.254 is taken: ls -l ${CLAIMS}`);
}

/** Gives a network back; to be called when its lab is gone. */
export function giveBackNetwork(subnet: string): void {
  rmSync(join(CLAIMS, subnet), { force: true });
}
