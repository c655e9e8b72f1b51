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

export function headerChecks(facts: HostFacts): Finding[] {
  return facts.kernels.map(({ release, headers }) => {
    if (headers === "unavailable")
      return problem(
        "kernel-headers",
        `no package offers the headers of kernel ${release}`,
        `add Proxmox VE's package source, or reboot into a newer kernel and remove this one: apt-get purge 'proxmox-kernel-${release}*'`,
      );
    if (headers === "lists missing")
      return warning(
        "kernel-headers",
        `whether headers of kernel ${release} can be had shows after a refresh of the package lists`,
        "`up` does it; to know now: apt-get update on the host",
      );
    return ok("kernel-headers", `headers of kernel ${release} are ${headers}`);
  });
}

export function secureBootCheck(facts: HostFacts): Finding {
  if (facts.secureBoot === "disabled") return ok("secure-boot", "Secure Boot is off");
  if (facts.signingKey === "enrolled")
    return ok("secure-boot", "Secure Boot is on and DKMS's key is enrolled");
  return problem(
    "secure-boot",
    "Secure Boot is on and the key that signs DKMS modules is not enrolled: the driver would not load",
    "on the host: apt-get install dkms, mokutil --import /var/lib/dkms/mok.pub, reboot, choose 'Enroll MOK' on the console",
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

export function rebootCheck(config: StackConfig, facts: HostFacts): Finding {
  const { driverLoaded, nouveau } = facts;
  const { version } = config.driver;
  const why = nouveau
    ? "nouveau holds the cards"
    : driverLoaded !== "" && driverLoaded !== version
      ? `driver ${driverLoaded} is loaded, ${version} is declared`
      : undefined;
  if (why === undefined) return ok("reboot", "no reboot is needed");
  if (config.host.reboot === "never")
    return problem(
      "reboot",
      `a reboot is needed (${why}) and the stack says reboot: never`,
      "pulumi config set --path 'proxmox-gpu-stack:host.reboot' allow, or reboot the host yourself when `up` asks for it",
    );
  const guests = foreignGuests(config, facts);
  if (guests.length === 0) return ok("reboot", `\`up\` reboots the host: ${why}`);
  return warning(
    "reboot",
    `\`up\` reboots the host (${why}), and with it ${guests.join(", ")}`,
    "shut them down first, or choose a time at which they may be away",
  );
}

export function leftoverCheck(facts: HostFacts): Finding {
  if (facts.driverPackages === "") return ok("driver-packages", "no packages of the distribution's driver");
  const names = facts.driverPackages.split("\n").map((line) => line.split(" ")[0]);
  return problem(
    "driver-packages",
    `packages of the distribution's driver are installed: ${names.join(", ")}; NVIDIA's installer does not replace them`,
    `on the host: apt-get purge ${names.join(" ")}`,
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
