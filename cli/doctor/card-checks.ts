/** Whether the declared cards are there, and whether somebody else has them. */
import { gpuByName } from "../../catalog";
import type { GpuConfig, StackConfig } from "../../config/schema";
import { cardsIn, cardsOf, isFree, type Card } from "../inventory/cards";
import type { HostFacts } from "../inventory/host-facts";
import { ok, problem, warning, type Finding } from "./finding";

type Cards = readonly Card[];

function listOf(cards: Cards): string {
  return (
    cards
      .map((card) => `${card.pci}${card.knownUuid === undefined ? "" : ` ${card.knownUuid}`}`)
      .join(", ") || "none"
  );
}

function heldByMachine(card: Card): string {
  const machines = card.machines.map((id) => `virtual machine ${id}`);
  return `${card.pci} is bound to vfio-pci${machines.length > 0 ? ` for ${machines.join(", ")}` : ""}`;
}

const RELEASE =
  "take it out of the machine (qm set ID --delete hostpciN) and out of vfio's ids in /etc/modprobe.d, then reboot";

/** A card by its slot. */
function byAddress(name: string, gpu: GpuConfig, cards: Cards): Finding {
  const card = cards.find(({ pci }) => pci === gpu.pci);
  if (card === undefined)
    return problem(
      "card",
      `${name}: no card at ${gpu.pci}; there are ${listOf(cards)}`,
      "correct gpus, or look whether the card is seated",
    );
  if (!isFree(card)) return problem("card", `${name}: ${heldByMachine(card)}`, RELEASE);
  const expected = gpuByName(gpu.model)?.pciId;
  if (expected !== undefined && expected !== card.id)
    return problem(
      "card",
      `${name}: at ${card.pci} is ${card.name} (${card.id}), declared is ${gpu.model} (${expected})`,
      "correct the model in gpus",
    );
  return ok("card", `${name} is at ${card.pci}`);
}

/** A card by its UUID, which only NVIDIA's driver can tell. */
function byUuid(name: string, gpu: GpuConfig, cards: Cards): Finding {
  const card = cards.find(({ knownUuid }) => knownUuid === gpu.uuid);
  if (card !== undefined) return ok("card", `${name} is at ${card.pci}`);
  const held = cards.filter((candidate) => !isFree(candidate));
  if (cards.some(({ knownUuid }) => knownUuid !== undefined))
    return problem(
      "card",
      `${name}: no card has ${gpu.uuid}; there are ${listOf(cards)}${held.map((candidate) => `; ${heldByMachine(candidate)}`).join("")}`,
      held.length > 0 ? RELEASE : "correct gpus, or look whether the card is seated",
    );
  return ok("card", `${name}: its UUID shows when NVIDIA's driver is loaded`);
}

/** Before the driver is there, cards by UUID can be counted only. */
function countChecks(config: StackConfig, cards: Cards): Finding[] {
  if (cards.some(({ knownUuid }) => knownUuid !== undefined)) return [];
  const models = [...new Set(Object.values(config.gpus).map(({ model }) => model))];
  return models.flatMap((model) => {
    const id = gpuByName(model)?.pciId;
    if (id === undefined) return [];
    const declared = Object.values(config.gpus).filter((gpu) => gpu.model === model).length;
    const ofModel = cards.filter((card) => card.id === id);
    const found = ofModel.filter(isFree).length;
    const held = ofModel.filter((card) => !isFree(card)).map(heldByMachine);
    if (found >= declared)
      return [ok("card-count", `${found} of ${declared} declared cards of model ${model} are there`)];
    return [
      problem(
        "card-count",
        `${found} of ${declared} declared cards of model ${model} can be used${held.length > 0 ? `; ${held.join("; ")}` : ""}`,
        held.length > 0 ? RELEASE : "correct gpus, or look whether the cards are seated (lspci -nn -d 10de:)",
      ),
    ];
  });
}

/** Containers of others that have a declared card. */
function sharingChecks(config: StackConfig, facts: HostFacts, cards: Cards): Finding[] {
  const own = Object.values(config.containers).map(({ vmId }) => String(vmId));
  const shared = Object.values(config.containers).every((container) => container.shared);
  const declared = Object.values(config.gpus);
  const ours = cards.filter((card) =>
    declared.some(({ uuid, pci }) => pci === card.pci || (uuid !== undefined && uuid === card.knownUuid)),
  );
  const users = facts.containers
    .filter(({ id }) => !own.includes(id))
    .flatMap(({ id, configuration }) => {
      const used = cardsIn(configuration, ours);
      return used.length > 0 ? [`container ${id} has ${used.map(({ pci }) => pci).join(", ")}`] : [];
    });
  if (users.length === 0) return [ok("card-users", "no container of others has a declared card")];
  const message = `${users.join("; ")}, which this stack declares: servers would compete for the same memory`;
  const fix =
    "take the devN entries out of it (pct set ID --delete devN), or take the card out of this stack";
  return [shared ? warning("card-users", message, fix) : problem("card-users", message, fix)];
}

export function cardChecks(config: StackConfig, facts: HostFacts): Finding[] {
  const cards = cardsOf(facts);
  return [
    ...Object.entries(config.gpus).map(([name, gpu]) =>
      gpu.pci === undefined ? byUuid(name, gpu, cards) : byAddress(name, gpu, cards),
    ),
    ...countChecks(config, cards),
    ...sharingChecks(config, facts, cards),
  ];
}
