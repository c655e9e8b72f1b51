/** Which cards of a host a service could have. */
import { gpuByName } from "../../catalog";
import type { StackConfig } from "../../config/schema";

/** Cards of one model in one container. */
export interface CardSet {
  /** Name of the container; undefined: the cards are in none yet. */
  readonly container: string | undefined;
  /** Name of the cards' model in the catalog. */
  readonly model: string;
  readonly cards: readonly string[];
}

/** What a service has where it is. */
export interface Present {
  readonly model: string;
  readonly count: number;
}

function memory(model: string): number {
  return gpuByName(model)?.memoryGiB ?? 0;
}

/** Cards that services use which run. */
function busyCards(config: StackConfig): Set<string> {
  return new Set(
    Object.values(config.services)
      .filter(({ enabled }) => enabled)
      .flatMap(({ gpus }) => gpus),
  );
}

/** The cards of each container, and those in none, by model; free ones first. */
function groups(config: StackConfig): CardSet[] {
  const busy = busyCards(config);
  const used = new Set(Object.values(config.containers).flatMap(({ gpus }) => gpus));
  const free = Object.keys(config.gpus).filter((card) => !used.has(card));
  const holders: [string | undefined, readonly string[]][] = [
    ...Object.entries(config.containers).map(([name, { gpus }]): [string, readonly string[]] => [name, gpus]),
    [undefined, free],
  ];
  return holders.flatMap(([container, names]) => {
    const models = [...new Set(names.map((card) => config.gpus[card]?.model ?? ""))];
    return models.map((model) => {
      const cards = names.filter((card) => config.gpus[card]?.model === model);
      return {
        container,
        model,
        cards: [...cards].sort((a, b) => Number(busy.has(a)) - Number(busy.has(b))),
      };
    });
  });
}

/** Numbers of cards to try: powers of two, which divide models' heads, and all there are. */
function counts(available: number): number[] {
  const powers = [1, 2, 4, 8, 16, 32, 64].filter((count) => count <= available);
  return [...new Set([...powers, available])];
}

/**
 * Sets of cards in the order in which they should be tried: as many of the same model; then the fewest with at least the
 * memory that the service has now; then those with less, most first. Sets whose cards nobody uses come before others.
 */
export function cardSets(config: StackConfig, present: Present): CardSet[] {
  const busy = busyCards(config);
  const needed = memory(present.model) * present.count;
  const sets = groups(config).flatMap(({ container, model, cards }) =>
    counts(cards.length).map((count) => ({ container, model, cards: cards.slice(0, count) })),
  );
  const rank = ({ model, cards }: CardSet): [number, number, number] => {
    const total = memory(model) * cards.length;
    const same = model === present.model && cards.length === present.count;
    const isBusy = cards.some((card) => busy.has(card)) ? 1 : 0;
    if (same) return [0, isBusy, 0];
    return total >= needed ? [1, isBusy, total] : [2, isBusy, -total];
  };
  return sets
    .map((set, index) => ({ set, rank: [...rank(set), index] }))
    .sort((a, b) => {
      const differing = a.rank.findIndex((value, index) => value !== b.rank[index]);
      return (a.rank[differing] ?? 0) - (b.rank[differing] ?? 0);
    })
    .map(({ set }) => set);
}
