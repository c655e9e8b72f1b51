import { existsSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/** First two octets of the networks of tests' labs. */
const NETWORKS = "10.80";

/** Who has which network, for all test runs of this machine: links to the labs' folders. */
export const CLAIMS = "/run/lock/proxmox-gpu-stack-tests";

function claim(subnet: string, folder: string): boolean {
  // The bridge of a lab whose test was killed.
  if (existsSync(`/sys/class/net/lab${subnet.replaceAll(".", "-")}`)) return false;
  const link = join(CLAIMS, subnet);
  try {
    if (!existsSync(readlinkSync(link))) rmSync(link);
  } catch {
    // Nobody has it.
  }
  try {
    symlinkSync(folder, link);
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
