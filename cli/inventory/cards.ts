/** The cards of a host under the names that a stack file will use, and the guests that have them. */
import { GPUS } from "../../catalog/gpus";
import type { CardFacts, HostFacts } from "./host-facts";
import { parseGuest } from "./guest-configuration";

export interface Card extends CardFacts {
  /** Name for the stack file, such as `rtx-a6000-0`; undefined when the catalog does not know the card. */
  readonly entry: string | undefined;
  /** Model in the catalog. */
  readonly model: string | undefined;
  /** UUID as a stack file takes it; undefined as long as no driver tells it. */
  readonly knownUuid: string | undefined;
  /** Ids of the virtual machines that the card is passed to. */
  readonly machines: readonly string[];
}

/** Virtual machines with a PCI device at the address; `hostpci0: 01:00` means all functions, in domain 0000. */
function machinesWith(facts: HostFacts, pci: string): string[] {
  const short = pci.replace(/^0000:/, "");
  return facts.virtualMachines
    .filter(({ configuration }) =>
      parseGuest(configuration)
        .options(/^hostpci\d+$/)
        .flatMap(({ value }) => (value.split(",")[0] ?? "").replace(/^host=/, "").split(";"))
        .some((address) =>
          [pci, short].some((full) => full === address || full.replace(/\.\d$/, "") === address),
        ),
    )
    .map(({ id }) => id);
}

/** All cards in the order of their PCI addresses. */
export function cardsOf(facts: HostFacts): Card[] {
  const count = new Map<string, number>();
  return [...facts.cards]
    .sort((a, b) => a.pci.localeCompare(b.pci))
    .map((card) => {
      const model = GPUS.find(({ pciId }) => pciId === card.id)?.name;
      const index = model === undefined ? 0 : (count.get(model) ?? 0);
      if (model !== undefined) count.set(model, index + 1);
      return {
        ...card,
        model,
        entry: model === undefined ? undefined : `${model}-${index}`,
        knownUuid: /^GPU-[0-9a-f-]{36}$/.test(card.uuid) ? card.uuid : undefined,
        machines: machinesWith(facts, card.pci),
      };
    });
}

/** Whether a container can get the card: no virtual machine has it. */
export function isFree(card: Card): boolean {
  return card.driver !== "vfio-pci";
}

/**
 * The cards that a container has: by devN, or by the older lines that bind the node. Told by the minor number, so only
 * while NVIDIA's driver is loaded.
 */
export function cardsIn(configuration: string, cards: readonly Card[]): Card[] {
  const guest = parseGuest(configuration);
  const lines = [...guest.options(/^dev\d+$/), ...guest.options(/^lxc\.mount\.entry$/)];
  const minors = lines.flatMap(
    ({ value }) => /(?:^|path=)\/dev\/nvidia(\d+)(?=[\s,]|$)/.exec(value)?.[1] ?? [],
  );
  return cards.filter(({ minor }) => minor !== "" && minors.includes(String(minor)));
}

/** Whether a container has nodes of NVIDIA's at all, even if nobody can tell which cards they are. */
export function usesNvidia(configuration: string): boolean {
  return parseGuest(configuration)
    .options(/^(dev\d+|lxc\.mount\.entry)$/)
    .some(({ value }) => value.includes("/dev/nvidia"));
}
