/** A container's configuration on the host, held against the plan: what the API was asked for, not what its steps set. */
import type { ContainerPlan } from "../../plan/container-steps";
import { descriptionOf, parseGuest, properties, sizeGiB } from "../inventory/guest-configuration";

/** One setting that differs. */
export interface SettingDrift {
  readonly setting: string;
  readonly declared: string;
  readonly found: string;
  /** False for what makes a container another one: no update brings it back. */
  readonly repairable: boolean;
  /** What to do where it is not repairable. */
  readonly fix?: string;
}

const NONE = "nothing";

/** A value as it is compared and shown: `undefined` is not declared, so anything may be there. */
interface Comparison {
  readonly setting: string;
  readonly declared: string | undefined;
  readonly found: string;
}

function comparisons({ settings }: ContainerPlan, text: string): Comparison[] {
  const guest = parseGuest(text);
  const option = (name: string, otherwise = "") => guest.option(name) ?? otherwise;
  const net = properties(option("net0"));
  const { network } = settings;
  const optional = (value: string) => (value === "" ? undefined : value);
  return [
    { setting: "cores", declared: String(settings.cores), found: option("cores", "all") },
    // 512 MiB of memory and of swap are Proxmox VE's own defaults.
    {
      setting: "memory (MiB)",
      declared: String(settings.memoryGiB * 1024),
      found: option("memory", "512"),
    },
    { setting: "swap (MiB)", declared: String(settings.swapGiB * 1024), found: option("swap", "512") },
    { setting: "hostname", declared: settings.hostname, found: option("hostname") },
    { setting: "bridge", declared: network.bridge, found: net["bridge"] ?? "" },
    { setting: "address", declared: network.address, found: net["ip"] ?? "" },
    { setting: "gateway", declared: network.gateway, found: net["gw"] ?? "" },
    { setting: "name servers", declared: optional(network.dns.join(" ")), found: option("nameserver") },
    { setting: "search domain", declared: network.searchDomain, found: option("searchdomain") },
    {
      setting: "tags",
      declared: optional([...settings.tags].sort().join(";")),
      found: option("tags")
        .split(/[;, ]+/)
        .filter(Boolean)
        .sort()
        .join(";"),
    },
    { setting: "description", declared: settings.description?.trimEnd(), found: descriptionOf(text) },
    { setting: "start on boot", declared: settings.startOnBoot ? "1" : "0", found: option("onboot", "0") },
    {
      setting: "startup order",
      declared: settings.startupOrder === undefined ? undefined : String(settings.startupOrder),
      found: properties(option("startup"))["order"] ?? "",
    },
  ];
}

/** Interfaces beside the one that the stack declares. */
function furtherInterfaces(text: string): SettingDrift[] {
  return parseGuest(text)
    .options(/^net\d+$/)
    .filter(({ name }) => name !== "net0")
    .map(({ name, value }) => ({ setting: name, declared: NONE, found: value, repairable: true }));
}

/** What makes a container another one, or cannot go back. */
function identity({ name, settings }: ContainerPlan, text: string): SettingDrift[] {
  const guest = parseGuest(text);
  const root = guest.option("rootfs") ?? "";
  const { storage, sizeGiB: declaredSize } = settings.rootDisk;
  const foundStorage = root.split(":")[0] ?? "";
  const foundSize = sizeGiB(properties(root)["size"]);
  const drifts: SettingDrift[] = [];
  if (foundStorage !== storage)
    drifts.push({
      setting: "root disk's storage",
      declared: storage,
      found: foundStorage || NONE,
      repairable: false,
      fix: `pct move-volume ${settings.vmId} rootfs ${storage}, or declare containers.${name}.rootDisk.storage: ${foundStorage}`,
    });
  if (foundSize !== undefined && foundSize !== declaredSize)
    drifts.push({
      setting: "root disk (GiB)",
      declared: String(declaredSize),
      found: String(foundSize),
      repairable: foundSize < declaredSize,
      ...(foundSize < declaredSize
        ? {}
        : { fix: `a disk cannot shrink: declare containers.${name}.rootDisk.sizeGiB: ${foundSize}` }),
    });
  const unprivileged = guest.option("unprivileged") === "1";
  if (unprivileged !== settings.unprivileged)
    drifts.push({
      setting: "unprivileged",
      declared: String(settings.unprivileged),
      found: String(unprivileged),
      repairable: false,
      fix: `declare containers.${name}.unprivileged: ${unprivileged}; a change needs a new container`,
    });
  return drifts;
}

/**
 * Settings that are not as declared. What the stack file leaves open (tags, a description, name servers, an order) may be
 * anything; devices, mounts and features are the attach step's.
 *
 * @param text the container's file, as in /etc/pve/lxc
 */
export function settingDrifts(plan: ContainerPlan, text: string): SettingDrift[] {
  const values = comparisons(plan, text).flatMap(({ setting, declared, found }) =>
    declared === undefined || declared === found
      ? []
      : [{ setting, declared, found: found === "" ? NONE : found, repairable: true }],
  );
  return [...values, ...furtherInterfaces(text), ...identity(plan, text)];
}
