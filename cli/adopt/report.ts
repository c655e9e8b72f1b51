/** What the first `up` of an adopted stack changes, what it leaves, and how to go on. */
import { parseGuest } from "../inventory/guest-configuration";
import type { ContainerFacts, HostFacts } from "../inventory/host-facts";
import type { Adopted } from "./entries";
import type { ContainerContents } from "./facts";
import { providerUrn } from "./import-file";
import { differenceText } from "./locks";

/** Device nodes that a container with cards gets beside the cards'. */
const SHARED_NODES = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];

/** Why the first `up` restarts a container, one text each; empty: it stays up. */
export function restartReasons(configuration: string): string[] {
  const guest = parseGuest(configuration);
  const reasons: string[] = [];
  if (!`,${guest.option("features") ?? ""},`.includes(",nesting=1,")) reasons.push("it has no nesting");
  const devices = guest.options(/^dev\d+$/).map(({ value }) => value.replace(/^path=/, ""));
  const missing = SHARED_NODES.filter(
    (node) => !devices.some((value) => value === node || value.startsWith(`${node},`)),
  );
  if (missing.length > 0) reasons.push(`it lacks ${missing.join(", ")}`);
  const raw = guest
    .options(/^lxc\./)
    .filter(({ value }) => value.includes("nvidia") || value.startsWith("c 195:"));
  if (raw.length > 0) reasons.push("its cards come by raw lxc.* lines, which must be deleted before");
  return reasons;
}

function containerLines(container: ContainerFacts, contents: ContainerContents, facts: HostFacts): string[] {
  const reasons = restartReasons(container.configuration);
  const memory = Number(parseGuest(container.configuration).option("memory") ?? 512);
  const drivers = contents.driverLibraries;
  return [
    reasons.length > 0
      ? `changed at once: container ${container.id} is restarted: ${reasons.join("; ")}`
      : `stays: container ${container.id} keeps running, with its devices, mounts and data`,
    ...(memory % 1024 === 0
      ? []
      : [`changed at once: container ${container.id}: memory is rounded up to whole GiB`]),
    ...(drivers !== "" && facts.driverLoaded !== "" && drivers !== facts.driverLoaded
      ? [
          `changed at once: NVIDIA's libraries in container ${container.id}: ${drivers} -> ${facts.driverLoaded}`,
        ]
      : []),
  ];
}

function serviceLines({ list }: Adopted): string[] {
  return list.flatMap((service) => [
    `built beside: environment ${service.path} from ${service.lock.name}: ${differenceText(service.lock.differences)}`,
    ...(service.madeByHand === undefined
      ? []
      : [`stays: ${service.madeByHand}, made by hand; remove it when nothing runs from it any more`]),
    `installed, not started: sglang-${service.name}.service`,
    `stays${service.isRunning ? ", and serves" : ""}: ${service.unit}, until services.${service.name}.enabled is true: then it is stopped, ` +
      `sglang-${service.name}.service starts and is held to its gate; ${service.unit} is disabled when that passes, started again when not`,
  ]);
}

/** One text of lines. */
export function adoptionReport(
  facts: HostFacts,
  contents: ReadonlyMap<string, ContainerContents>,
  adopted: Adopted,
  files: { stack: string; stackFile: string; importFile: string },
): string {
  const containers = facts.containers.flatMap((container) => {
    const inside = contents.get(container.id);
    return inside === undefined ? [] : containerLines(container, inside, facts);
  });
  const { stack, stackFile, importFile } = files;
  const lines = [
    "What the first `up` does:",
    ...[...containers, ...serviceLines(adopted)].map((line) => `  ${line}`),
    "",
    "Next, when `./stack check` is content with the file (what it calls unknown is yours to fill in):",
    `  ./stack check ${stackFile}`,
    `  pulumi stack init ${stack}`,
    `  pulumi up --stack ${stack} --target '${providerUrn(stack)}'`,
    `  pulumi import --stack ${stack} --file ${importFile} --generate-code=false`,
    `  pulumi preview --stack ${stack} --diff`,
    `  pulumi up --stack ${stack}`,
    ...adopted.list.map(
      ({ name }) =>
        `  pulumi config set --stack ${stack} --path 'proxmox-gpu-stack:services.${name}.enabled' true`,
    ),
    ...(adopted.list.length > 0
      ? [`  pulumi up --stack ${stack}   # the switch: the server loads once`]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}
