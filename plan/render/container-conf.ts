import type { StackConfig } from "../../config/schema";
import type { ContainerPlan } from "../container-steps";

/** The device lines: which node a card has is only known on the host, and may differ after every boot. */
function deviceLines(config: StackConfig, plan: ContainerPlan): string[] {
  const { gpus, deviceMode } = plan.settings;
  if (gpus.length === 0) return [];
  const cards = gpus.map((name) => {
    const card = config.gpus[name];
    return `#   ${name}: ${card?.uuid ?? card?.pci ?? "unknown"}`;
  });
  return [
    `# devN (mode=${deviceMode}): nodes of these cards, resolved on the host at every boot, and the nodes that all cards share:`,
    ...cards,
  ];
}

/** Notes as Proxmox VE prints them: everything but plain ASCII, and `%` and `:`, as %XX. */
function encodedText(text: string): string {
  return [...Buffer.from(text, "utf8")]
    .map((byte) => {
      const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25 && byte !== 0x3a;
      return plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}

/** `key: value` lines as `pct config` prints them; settings without a value are left out. */
function settingLines(plan: ContainerPlan): string[] {
  const { settings } = plan;
  const { network, rootDisk, mounts } = settings;
  const values: Record<string, string | number | undefined> = {
    cores: settings.cores,
    description: settings.description === undefined ? undefined : encodedText(settings.description),
    features: "nesting=1",
    hostname: settings.hostname,
    memory: settings.memoryGiB * 1024,
    nameserver: network.dns.length === 0 ? undefined : network.dns.join(" "),
    net0: `name=eth0,bridge=${network.bridge},gw=${network.gateway},ip=${network.address},type=veth`,
    onboot: settings.startOnBoot ? 1 : 0,
    ostype: plan.operatingSystem,
    rootfs: `${rootDisk.storage}:${rootDisk.sizeGiB}G`,
    searchdomain: network.searchDomain,
    startup: settings.startupOrder === undefined ? undefined : `order=${settings.startupOrder}`,
    swap: settings.swapGiB * 1024,
    tags: settings.tags.length === 0 ? undefined : [...settings.tags].sort().join(";"),
    unprivileged: settings.unprivileged ? 1 : 0,
  };
  for (const [index, mount] of mounts.entries()) {
    values[`mp${index}`] = `${mount.source},mp=${mount.target}${mount.readOnly ? ",ro=1" : ""}`;
  }
  return Object.keys(values)
    .sort()
    .flatMap((key) => (values[key] === undefined ? [] : [`${key}: ${values[key]}`]));
}

/** What `pct config <vmId>` will say, as far as it is decided here. */
export function renderContainerConfiguration(config: StackConfig, plan: ContainerPlan): string {
  return `${[
    `# Container ${plan.name} on ${config.host.node}, made from ${plan.templateId}`,
    ...deviceLines(config, plan),
    ...settingLines(plan),
  ].join("\n")}\n`;
}
