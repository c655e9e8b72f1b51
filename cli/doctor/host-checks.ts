/** What of the host itself would stop an `up`. */
import type { StackConfig } from "../../config/schema";
import { compare } from "../../plan/version";
import type { HostFacts } from "../inventory/host-facts";
import { ok, problem, warning, type Finding } from "./finding";

/** The first with `devN`, which gives containers their cards. */
const OLDEST_PVE = "8.1";

/** Difference of clocks, in seconds, from which on tickets and certificates fail. */
const CLOCK_LIMIT = 60;

export function identityChecks(config: StackConfig, facts: HostFacts): Finding[] {
  const { node } = config.host;
  return [
    facts.user === "root"
      ? ok("root", "the connection is root's")
      : problem("root", `the connection is ${facts.user}'s`, "let root log in with the key"),
    facts.node === node
      ? ok("node", `the node is ${node}`)
      : problem(
          "node",
          `the node is ${facts.node}, the stack says ${node}`,
          `pulumi config set --path 'proxmox-gpu-stack:host.node' ${facts.node}, or correct host.address`,
        ),
  ];
}

export function versionCheck(facts: HostFacts): Finding {
  if (facts.pve === "")
    return problem(
      "pve-version",
      "it is no Proxmox VE host: there is no pveversion",
      "correct host.address, or install Proxmox VE",
    );
  return compare(facts.pve, OLDEST_PVE) < 0
    ? problem(
        "pve-version",
        `Proxmox VE ${facts.pve}; containers get devices by devN from ${OLDEST_PVE} on`,
        "upgrade the host",
      )
    : ok("pve-version", `Proxmox VE ${facts.pve}`);
}

/** Kernels that must get the driver. */
export const kernelsThatMatter = (facts: HostFacts) =>
  facts.kernels.filter(({ matters }) => matters === "yes");

/** Whether a boot into another kernel helps where the running one can have no headers. */
function anotherCanBuild(facts: HostFacts): boolean {
  return kernelsThatMatter(facts).some(
    ({ release, headers }) => release !== facts.kernel && headers !== "unavailable",
  );
}

export function headerChecks(facts: HostFacts): Finding[] {
  return kernelsThatMatter(facts).map(({ release, headers }) => {
    const id = "kernel-headers";
    if (headers === "lists missing")
      return warning(
        id,
        `whether headers of kernel ${release} can be had shows after a refresh of the package lists`,
        "`up` does it; to know now: apt-get update on the host",
      );
    if (headers !== "unavailable") return ok(id, `headers of kernel ${release} are ${headers}`);
    if (release === facts.kernel && anotherCanBuild(facts))
      return ok(id, `no package offers the headers of the running kernel ${release}; the next one has some`);
    return problem(
      id,
      `no package offers the headers of kernel ${release}`,
      `check the host's package sources: apt policy proxmox-headers-${release}`,
    );
  });
}

export function secureBootCheck(facts: HostFacts): Finding {
  if (facts.secureBoot === "no") return ok("secure-boot", "Secure Boot is off");
  if (facts.signingKeyEnrolled === "yes")
    return ok("secure-boot", "Secure Boot is on and DKMS's key is enrolled");
  return problem(
    "secure-boot",
    "Secure Boot is on and the key that signs DKMS modules is not enrolled: the driver would not load",
    "`up` makes the key, stops and prints the commands that enrol it; or turn Secure Boot off in the firmware",
  );
}

/** Running guests that the stack does not hold: a reboot stops them too. */
function foreignGuests(config: StackConfig, facts: HostFacts): string[] {
  const own = Object.values(config.containers).map(({ vmId }) => String(vmId));
  return facts.containers
    .filter(({ id, status }) => status === "running" && !own.includes(id))
    .map(({ id }) => `container ${id}`)
    .concat(facts.virtualMachines.map(({ id }) => `virtual machine ${id}`));
}

/** Why the host must be rebooted, whoever uses the cards. */
function rebootReasons(facts: HostFacts): string[] {
  const running = facts.kernels.find(({ release }) => release === facts.kernel);
  return [
    ...(facts.nouveau === "yes" ? ["nouveau holds the cards"] : []),
    ...(facts.kernelInstalled === "no"
      ? [`the running kernel ${facts.kernel} is not installed any more`]
      : []),
    ...(running?.headers === "unavailable" && anotherCanBuild(facts)
      ? [`the running kernel ${facts.kernel} can have no headers`]
      : []),
  ];
}

export const ALLOW = "pulumi config set --path 'proxmox-gpu-stack:host.reboot' allow";

export function rebootCheck(config: StackConfig, facts: HostFacts): Finding {
  const why = rebootReasons(facts).join("; ");
  if (why === "") return ok("reboot", "no reboot is needed");
  if (config.host.reboot === "never")
    return problem(
      "reboot",
      `a reboot is needed (${why}) and the stack says reboot: never`,
      `${ALLOW}, or reboot the host yourself when \`up\` asks for it`,
    );
  const guests = foreignGuests(config, facts);
  if (guests.length === 0) return ok("reboot", `\`up\` reboots the host: ${why}`);
  return warning(
    "reboot",
    `\`up\` reboots the host (${why}), and with it ${guests.join(", ")}`,
    "shut them down first, or choose a time at which they may be away",
  );
}

/** @param now seconds since 1970, here */
export function clockCheck(facts: HostFacts, now: number): Finding {
  const difference = Math.round(facts.clock - now);
  const size = Math.abs(difference);
  if (size > CLOCK_LIMIT)
    return problem(
      "clock",
      `the host's clock is ${size} seconds ${difference > 0 ? "ahead of" : "behind"} this machine's: tickets and certificates fail`,
      "set both right: timedatectl, and a time service such as chrony",
    );
  return facts.clockSynchronized === "yes"
    ? ok("clock", "the clock is synchronised and right")
    : warning(
        "clock",
        "the clock is right, but nothing synchronises it",
        "on the host: apt-get install chrony",
      );
}
