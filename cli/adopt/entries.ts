/** What stands in hand-made containers as entries of a stack file: environments, models, services. */
import { existingContainer, entryNameOf } from "../inventory/container-block";
import { cardsOf } from "../inventory/cards";
import { parseGuest, properties } from "../inventory/guest-configuration";
import type { ContainerFacts, HostFacts } from "../inventory/host-facts";
import type { ContainerContents, EnvironmentFacts } from "./facts";
import { differenceText, nearestLock, versionsOf, type NearestLock, type Versions } from "./locks";
import { modelBlock, type Mount } from "./models";
import { foundServer, type FoundServer } from "./service";

/** Entries of one key, and what to know about them. */
export interface Block {
  readonly value: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly notes: readonly string[];
}

export interface AdoptedService {
  readonly name: string;
  readonly container: string;
  readonly unit: string;
  readonly isRunning: boolean;
  /** Hand-made environment that the unit runs from; undefined: none was found at its interpreter. */
  readonly madeByHand: string | undefined;
  /** Path of the environment that takes its place. */
  readonly path: string;
  readonly lock: NearestLock;
}

export interface Adopted {
  readonly ids: readonly string[];
  readonly environments: Block;
  readonly models: Block;
  readonly services: Block;
  readonly list: readonly AdoptedService[];
}

interface Draft {
  readonly environments: Record<string, Readonly<Record<string, unknown>>>;
  readonly models: Record<string, Readonly<Record<string, unknown>>>;
  readonly services: Record<string, Readonly<Record<string, unknown>>>;
  readonly notes: { environments: string[]; models: string[]; services: string[] };
  readonly list: AdoptedService[];
}

/** Bind mounts of a container. */
export function mountsOf(configuration: string): Mount[] {
  return parseGuest(configuration)
    .options(/^mp\d+$/)
    .flatMap(({ value }) => {
      const source = value.split(",")[0] ?? "";
      const target = properties(value)["mp"];
      return source.startsWith("/") && target !== undefined ? [{ source, target }] : [];
    });
}

/** A name that no entry has yet. */
function free(wanted: string, taken: Readonly<Record<string, unknown>>): string {
  let name = wanted;
  for (let count = 2; name in taken; count += 1) name = `${wanted}-${count}`;
  return name;
}

const environmentOf = (server: FoundServer, environments: readonly EnvironmentFacts[]) =>
  environments.find(({ path }) => server.program.startsWith(`${path}/bin/`));

const releaseIn = (environment: EnvironmentFacts | undefined) =>
  environment === undefined ? undefined : versionsOf(environment.packages).get("sglang");

/** The new environment of a server: beside the hand-made one, which stays where it is. */
function addEnvironment(
  draft: Draft,
  container: string,
  found: EnvironmentFacts | undefined,
  lock: NearestLock,
): { name: string; path: string } {
  const base = entryNameOf(found?.path.split("/").at(-1) ?? "ml-env");
  const existing = Object.entries(draft.environments).find(
    ([, entry]) => entry["container"] === container && entry["lock"] === lock.name,
  );
  if (existing !== undefined) return { name: existing[0], path: String(existing[1]["path"]) };
  const name = free(base, draft.environments);
  // A folder that somebody made is never overwritten.
  const path = found?.path === `/opt/${name}` ? `/opt/${name}-stack` : `/opt/${name}`;
  draft.environments[name] = { container, path, lock: lock.name, python: found?.python || "3.11" };
  draft.notes.environments.push(
    found === undefined
      ? `${name}: no environment was found at the unit's interpreter; choose its lock`
      : `${name}: ${found.path} was made by hand and stays; ${lock.name} is nearest to it: ${differenceText(lock.differences)}`,
  );
  return { name, path };
}

function addModel(draft: Draft, path: string, contents: ContainerContents, mounts: readonly Mount[]): string {
  const { value, notes } = modelBlock(path, contents.models, mounts);
  const existing = Object.entries(draft.models).find(([, entry]) => entry["path"] === value["path"]);
  if (existing !== undefined) return existing[0];
  const name = free(
    entryNameOf(
      path
        .split("/")
        .filter((part) => part !== "")
        .at(-1) ?? "model",
    ),
    draft.models,
  );
  draft.models[name] = value;
  draft.notes.models.push(...notes.map((note) => `${name}: ${note}`));
  return name;
}

function addServer(
  draft: Draft,
  container: ContainerFacts,
  entry: { name: string; cards: readonly string[]; deviceMode: string },
  contents: ContainerContents,
  server: FoundServer,
  locks: ReadonlyMap<string, Versions>,
): void {
  const mounts = mountsOf(container.configuration);
  const found = environmentOf(server, contents.environments);
  const lock = nearestLock(versionsOf(found?.packages ?? []), locks);
  if (lock === undefined || server.modelPath === undefined) {
    draft.notes.services.push(
      `${server.unit} of ${entry.name}: ${lock ? "it names no model" : "no lock"}; left out`,
    );
    return;
  }
  const environment = addEnvironment(draft, entry.name, found, lock);
  const { tensorParallel, ...settings } = server.settings;
  const wanted = entryNameOf(String(settings["servedModelName"]));
  // A unit of the stack must not be written over the hand-made one.
  const clash = contents.units.some(({ name }) => name === `sglang-${wanted}.service`);
  const name = free(clash ? `${wanted}-stack` : wanted, draft.services);
  const others = draft.list.filter((other) => other.container === entry.name).map((other) => other.name);
  const speculative = settings["speculative"] as Readonly<Record<string, unknown>> | undefined;
  draft.services[name] = {
    environment: environment.name,
    model: addModel(draft, server.modelPath, contents, mounts),
    enabled: false,
    replaces: server.unit,
    ...(tensorParallel === undefined || tensorParallel === entry.cards.length ? {} : { tensorParallel }),
    ...settings,
    // Nodes that are closed to others stay so: another mode would restart the container.
    ...(/[67]$/.test(entry.deviceMode) ? {} : { user: "root" }),
    ...(server.draftModelPath === undefined
      ? {}
      : {
          speculative: {
            ...speculative,
            draftModel: addModel(draft, server.draftModelPath, contents, mounts),
          },
        }),
    ...(others.length > 0 ? { conflictsWith: others } : {}),
  };
  draft.notes.services.push(...server.notes.map((note) => `${name} (${server.unit}): ${note}`));
  draft.list.push({
    name,
    container: entry.name,
    unit: server.unit,
    isRunning: contents.units.some((unit) => unit.name === server.unit && unit.state === "active"),
    madeByHand: found?.path,
    path: environment.path,
    lock,
  });
}

/**
 * Entries for what stands in hand-made containers.
 *
 * @param contents what was found in each, by its id
 * @param locks the environments that could take the place of hand-made ones
 */
export function adoptedEntries(
  facts: HostFacts,
  contents: ReadonlyMap<string, ContainerContents>,
  locks: ReadonlyMap<string, Versions>,
): Adopted {
  const draft: Draft = {
    environments: {},
    models: {},
    services: {},
    notes: { environments: [], models: [], services: [] },
    list: [],
  };
  const cards = cardsOf(facts);
  for (const container of facts.containers) {
    const inside = contents.get(container.id);
    if (inside === undefined) continue;
    const { name, value } = existingContainer(container, facts, cards);
    const entry = {
      name,
      cards: (value["gpus"] as string[] | undefined) ?? [],
      deviceMode: String(value["deviceMode"] ?? "0666"),
    };
    for (const unit of inside.units) {
      const server = foundServer(unit, (program) =>
        releaseIn(inside.environments.find(({ path }) => program.startsWith(`${path}/bin/`))),
      );
      if (server === undefined)
        draft.notes.services.push(`${unit.name} of ${name} runs no server of SGLang's: it stays as it is`);
      else addServer(draft, container, entry, inside, server, locks);
    }
  }
  const { notes } = draft;
  return {
    ids: [...contents.keys()],
    environments: { value: draft.environments, notes: notes.environments },
    models: { value: draft.models, notes: notes.models },
    services: {
      value: draft.services,
      notes: [
        ...(draft.list.length > 0
          ? [
              "enabled: false: an `up` builds everything beside what serves now; enabled: true then switches over",
            ]
          : []),
        ...notes.services,
      ],
    },
    list: draft.list,
  };
}
