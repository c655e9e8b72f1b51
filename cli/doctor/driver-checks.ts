/** What of the drivers on the host would stop an `up`. */
import type { StackConfig } from "../../config/schema";
import type { HostFacts } from "../inventory/host-facts";
import { ok, problem, warning, type Finding } from "./finding";
import { ALLOW, kernelsThatMatter } from "./host-checks";

function isAsDeclared({ driver }: StackConfig, facts: HostFacts): boolean {
  return (
    facts.driverLibraries === driver.version &&
    kernelsThatMatter(facts).every(({ module, kind }) => module === driver.version && kind === driver.modules)
  );
}

/** A driver of others on disk. */
function foreignDriverCheck(config: StackConfig, facts: HostFacts): Finding {
  const id = "driver-origin";
  const found = facts.foreignDriver.split("\n").join("; ");
  if (found === "") return ok(id, "no driver of others is installed");
  if (isAsDeclared(config, facts)) return ok(id, `the driver is taken over as it is: ${found}`);
  if (config.driver.replaceExisting)
    return warning(
      id,
      `\`up\` removes the driver that is there: ${found}`,
      "make sure that nobody else needs it",
    );
  return problem(
    id,
    `another driver is there: ${found}`,
    "take it away, or have it removed: pulumi config set --path 'proxmox-gpu-stack:driver.replaceExisting' true",
  );
}

/** A loaded driver that is not the declared one must give up the cards first. */
function loadedDriverCheck({ host, driver }: StackConfig, facts: HostFacts): Finding {
  const id = "driver-loaded";
  const { driverLoaded, driverLoadedKind } = facts;
  if (driverLoaded === "") return ok(id, "no NVIDIA driver is loaded");
  const loaded = `driver ${driverLoaded} (${driverLoadedKind}) is loaded`;
  if (driverLoaded === driver.version && driverLoadedKind === driver.modules) return ok(id, loaded);
  const users = facts.gpuUsers.split("\n").join("; ");
  const change = `${loaded}, ${driver.version} (${driver.modules}) is declared`;
  if (users === "")
    return warning(
      id,
      `${change}: the services on the cards stop while it is replaced`,
      "choose a time at which they may be away",
    );
  if (host.reboot === "allow")
    return warning(
      id,
      `${change}: the host is rebooted, because others use the cards: ${users}`,
      "stop them first, or choose a time at which everything on the host may be away",
    );
  return problem(
    id,
    `${change}, others use the cards (${users}), and the stack says reboot: never`,
    `stop them, or ${ALLOW}`,
  );
}

function nouveauCheck(facts: HostFacts): Finding {
  const lines = facts.nouveauLoaders.split("\n").filter((line) => /:\s*install\s+nouveau\s/.test(line));
  return lines.length === 0
    ? ok("nouveau", "no configuration insists on nouveau")
    : problem(
        "nouveau",
        `modprobe's configuration says to load nouveau: ${lines.join("; ")}`,
        "take that line out on the host",
      );
}

export function driverChecks(config: StackConfig, facts: HostFacts): Finding[] {
  return [nouveauCheck(facts), foreignDriverCheck(config, facts), loadedDriverCheck(config, facts)];
}
