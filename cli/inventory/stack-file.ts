/** From a host's facts to the text of a stack file. */
import { Document, isCollection, isMap, isPair, isScalar, type Pair } from "yaml";
import { NAMESPACE } from "../../config/schema";
import { cardsIn, cardsOf, isFree, usesNvidia, type Card } from "./cards";
import type { Adopted, Block } from "../adopt/entries";
import { existingContainer, proposedContainer, type ContainerBlock } from "./container-block";
import { driverBlock } from "./driver-block";
import type { HostFacts } from "./host-facts";
import { parseStorages, type Storage } from "./storages";

/** Comment text as the yaml library wants it: each line begins with a space. */
function comment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line}`).join("\n");
}

const ADDRESS = /^\d+(\.\d+){3}$/;

/** Short mappings and lists in one line, and texts of digits in quotes, as in hand-written files. */
function styled(node: unknown, depth: number): void {
  if (isCollection(node)) {
    if (depth > 1 && JSON.stringify(node).length < 90) node.flow = true;
    for (const item of node.items) styled(isPair(item) ? item.value : item, depth + 1);
  } else if (
    isScalar(node) &&
    typeof node.value === "string" &&
    /^\d[\d.:]+$/.test(node.value) &&
    !ADDRESS.test(node.value)
  ) {
    node.type = "QUOTE_DOUBLE";
  }
}

function yaml(value: unknown): Document {
  const document = new Document(value);
  styled(document.contents, 0);
  return document;
}

const text = (document: Document): string =>
  document.toString({ lineWidth: 120, flowCollectionPadding: true });

const indented = (block: string): string => block.replace(/^(?=.)/gm, "  ");

/** A top-level key of the stack with comments above it. */
function key(name: string, value: unknown, notes: readonly string[] = []): string {
  const head = notes.map((note) => `# ${note}\n`).join("");
  return indented(`${head}${text(yaml({ [`${NAMESPACE}:${name}`]: value }))}`);
}

function cardNote(card: Card, facts: HostFacts): string {
  const holders = facts.containers
    .filter(({ configuration }) => cardsIn(configuration, [card]).length > 0)
    .map(({ id }) => `container ${id}`);
  const machines = card.machines.map((id) => `virtual machine ${id}`);
  const users = [...holders, ...machines];
  return [
    card.pci,
    ...(card.minor === "" ? [] : [`/dev/nvidia${card.minor}`]),
    card.driver === "" ? "no kernel driver" : card.driver,
    ...(users.length > 0 ? [`in ${users.join(", ")}`] : []),
  ].join(", ");
}

/** `gpus:` with the place of each card beside it; cards that no container can have stand as comments. */
function gpuBlock(facts: HostFacts, cards: readonly Card[]): string {
  const usable = cards.filter((card) => card.entry !== undefined && isFree(card));
  const entries = Object.fromEntries(
    usable.map((card) => [
      card.entry,
      { model: card.model, ...(card.knownUuid === undefined ? { pci: card.pci } : { uuid: card.knownUuid }) },
    ]),
  );
  const document = yaml({ [`${NAMESPACE}:gpus`]: entries });
  const block = document.get(`${NAMESPACE}:gpus`);
  if (isMap(block))
    for (const [index, pair] of (block.items as Pair[]).entries()) {
      const card = usable[index];
      if (card !== undefined && isMap(pair.value)) pair.value.comment = comment([cardNote(card, facts)]);
    }
  const others = cards.filter((card) => !usable.includes(card));
  const rest = others.map(
    (card) =>
      `  # ${card.name} (${card.id}): ${cardNote(card, facts)}: ${card.entry === undefined ? "not in the catalog" : "not for containers"}\n`,
  );
  const byAddress = usable.some((card) => card.knownUuid === undefined)
    ? ["# By PCI address as long as no driver tells the UUIDs; a UUID stays with its card in every slot.\n"]
    : [];
  return indented([...byAddress, text(document), ...rest].join(""));
}

function containerNode({ name, value, notes }: ContainerBlock): Document {
  const document = yaml({ containers: { [name]: value } });
  const containers = document.get("containers");
  if (isMap(containers)) {
    const first = containers.items[0]?.key;
    if (isScalar(first)) first.commentBefore = comment(notes);
  }
  return document;
}

/** Entries below `containers:`, indented as they stand there. */
function entryText(block: ContainerBlock): string {
  return text(containerNode(block)).replace(/^containers:\n/, "");
}

/** Containers with cards (or those with the ids) as entries, the others as comments to be taken over by hand. */
function containerBlocks(
  facts: HostFacts,
  cards: readonly Card[],
  storages: readonly Storage[],
  ids: readonly string[] | undefined,
): string {
  const blocks = facts.containers.map((container) => ({
    withCards: ids === undefined ? usesNvidia(container.configuration) : ids.includes(container.id),
    block: existingContainer(container, facts, cards),
  }));
  const withCards = blocks.filter((entry) => entry.withCards).map((entry) => entry.block);
  const others = blocks.filter((entry) => !entry.withCards).map((entry) => entry.block);
  const usable = cards.some((card) => card.entry !== undefined && isFree(card));
  const entries = withCards.length > 0 || !usable ? withCards : [proposedContainer(facts, cards, storages)];
  const head = entries.length > 0 ? `${NAMESPACE}:containers:\n` : `${NAMESPACE}:containers: {}\n`;
  const commented = others.map((block) => entryText(block).replace(/^ {2}/gm, "  # "));
  return indented([head, ...entries.map(entryText), ...commented].join(""));
}

function howTo(address: string, facts: HostFacts, adopted: Adopted | undefined): string[] {
  if (adopted !== undefined)
    return [
      `${facts.node}, as \`./stack adopt root@${address} --container ${adopted.ids.join(",")}\` found it. Fill in what is \`unknown\`.`,
    ];
  return [
    `${facts.node}, as \`./stack inventory root@${address}\` found it. Save it as Pulumi.${facts.node}.yaml, fill in what is \`unknown\`,`,
    "add environments, models and services (Pulumi.example.yaml shows every field), then: ./stack check, ./stack doctor.",
  ];
}

function headNotes(
  address: string,
  facts: HostFacts,
  storages: readonly Storage[],
  adopted: Adopted | undefined,
): string[] {
  const machines = facts.virtualMachines.map(({ id }) => id);
  const newest = facts.kernels.map(({ release }) => release).join(", ");
  return [
    ...howTo(address, facts, adopted),
    "Secrets: pulumi config set --secret proxmox-gpu-stack:apiToken (or apiPassword), proxmox-gpu-stack:sshPrivateKey",
    "",
    `Proxmox VE ${facts.pve}; kernel ${facts.kernel} (installed: ${newest}); booted by ${facts.bootLoader === "grub" ? "GRUB" : facts.bootLoader}; Secure Boot ${facts.secureBoot === "yes" ? "on" : "off"}`,
    `${facts.cores} cores, ${Math.round(facts.memoryKiB / 1024 ** 2)} GiB memory`,
    `storages: ${storages.map(({ name, type, content }) => `${name} (${type}: ${content.join(", ")})`).join("; ") || "none"}`,
    `bridges: ${facts.bridges.map(({ name, address: own }) => (own === "" ? name : `${name} (${own})`)).join(", ") || "none"}`,
    ...(machines.length > 0 ? [`virtual machines: ${machines.join(", ")}`] : []),
  ];
}

function hostBlock(address: string, facts: HostFacts): string {
  const notes = [
    "The key is the one that the host showed over this connection: compare it with",
    "/etc/ssh/ssh_host_ed25519_key.pub on the host's console.",
    ...(facts.ownCertificate === "yes"
      ? []
      : ["The API has the certificate that Proxmox VE made for itself, which nobody else can verify."]),
  ];
  return key(
    "host",
    {
      node: facts.node,
      address,
      ...(facts.sshPort === 22 || facts.sshPort === "" ? {} : { sshPort: facts.sshPort }),
      hostKey: facts.hostKey === "" ? "unknown" : facts.hostKey,
      reboot: "never",
      ...(facts.ownCertificate === "yes" ? {} : { api: { tls: "insecure" } }),
    },
    notes,
  );
}

/** A key whose entries are what was found in containers; nothing when there are none. */
function foundKey(name: string, { value, notes }: Block): string[] {
  return Object.keys(value).length > 0 || notes.length > 0 ? [key(name, value, notes)] : [];
}

/**
 * A stack file that describes a host as it is.
 *
 * @param address as the host was reached
 * @param adopted containers to take over, with what is in them; without it, all that have cards
 */
export function stackFileText(address: string, facts: HostFacts, adopted?: Adopted): string {
  const cards = cardsOf(facts);
  const storages = parseStorages(facts.storages, facts.storageStatus, facts.node);
  const driver = driverBlock(facts);
  const head = headNotes(address, facts, storages, adopted).map((line) =>
    line === "" ? "#\n" : `# ${line}\n`,
  );
  return [
    "# yaml-language-server: $schema=./schemas/stack.schema.json\n",
    ...head,
    "config:\n",
    [
      hostBlock(address, facts),
      key("driver", driver.value, driver.notes),
      gpuBlock(facts, cards),
      containerBlocks(facts, cards, storages, adopted?.ids),
      ...(adopted === undefined
        ? []
        : [
            ...foundKey("environments", adopted.environments),
            ...foundKey("models", adopted.models),
            ...foundKey("services", adopted.services),
          ]),
    ].join("\n"),
  ].join("");
}
