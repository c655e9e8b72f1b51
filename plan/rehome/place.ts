/** One service, placed on given cards of another stack: the entries that its stack file gets. */
import { readLock } from "../../config/lock";
import { pathInContainer } from "../../config/mounts";
import { UNKNOWN, type StackConfig } from "../../config/schema";
import type { CardSet } from "./cards";
import type { Addition } from "./edit";
import { carriedSettings } from "./settings";
import { entriesOf, freeName, mappingOf, without, type Stack, type Values } from "./values";

export interface Placement {
  /** Name of the service in the other stack. */
  readonly service: string;
  readonly additions: readonly Addition[];
  /** What a person should know: what stayed behind, what was renamed, what is not enabled. */
  readonly notes: readonly string[];
}

/** What one attempt is made of. */
export interface Attempt {
  readonly from: Stack;
  readonly to: Stack;
  /** Name of the service in `from`. */
  readonly service: string;
  readonly cards: CardSet;
  /** Folder of environments/. */
  readonly lock: string;
  readonly projectDirectory: string;
}

/** An address that means another machine, or nothing, on another network. */
export function isLocalAddress(url: string): boolean {
  const host = /^https?:\/\/\[?([^/\]:]+)/.exec(url)?.[1] ?? "";
  return /^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)|\.(local|lan|internal)$/.test(host);
}

/** Collects additions and notes. */
class Draft {
  readonly additions: Addition[] = [];
  readonly notes: string[] = [];

  add(key: string, name: string, value: Values): void {
    this.additions.push({ path: [key], key: name, value });
  }
}

/** The container that gets the service: one of the other stack, or the service's own made anew there. */
function placeContainer(attempt: Attempt, draft: Draft): { name: string; mounts: readonly Mount[] } {
  const { from, to, cards } = attempt;
  if (cards.container !== undefined) {
    return { name: cards.container, mounts: to.config.containers[cards.container]?.mounts ?? [] };
  }
  const source = from.config.services[attempt.service]?.container ?? "";
  const written = entriesOf(from.raw, "containers")[source] ?? {};
  const name = freeName(source, Object.keys(to.config.containers));
  const ids = Object.values(to.config.containers).map(({ vmId }) => vmId);
  const own = from.config.containers[source]?.vmId ?? 100;
  const rest = without(written, "vmId", "adopt", "hostname", "description", "network", "gpus", "shared");
  draft.add("containers", name, {
    vmId: ids.includes(own) ? Math.max(...ids) + 1 : own,
    ...rest,
    network: { address: UNKNOWN, gateway: UNKNOWN },
    gpus: [...cards.cards],
  });
  draft.notes.push(
    `containers.${name} is new: state its address and gateway, and look at its size and storage (those of ${from.name})`,
  );
  return { name, mounts: from.config.containers[source]?.mounts ?? [] };
}

type Mount = StackConfig["containers"][string]["mounts"][number];

/** The environment: one that the container has already, or a new one. */
function placeEnvironment(attempt: Attempt, container: string, draft: Draft): { name: string; path: string } {
  const { from, to, lock } = attempt;
  const source = from.config.services[attempt.service]?.environment ?? "";
  const written = entriesOf(from.raw, "environments")[source] ?? {};
  const python = from.config.environments[source]?.python;
  const there = Object.entries(to.config.environments);
  const same = there.find(
    ([, entry]) => entry.container === container && entry.lock === lock && entry.python === python,
  );
  if (same !== undefined) return { name: same[0], path: same[1].path };

  const name = freeName(
    source,
    there.map(([other]) => other),
  );
  const paths = there.filter(([, entry]) => entry.container === container).map(([, entry]) => entry.path);
  const own = from.config.environments[source]?.path ?? "";
  const path = paths.includes(own) || name !== source ? freeName(`/opt/${name}`, paths) : own;
  const index = typeof written["index"] === "string" ? written["index"] : undefined;
  const rest = without(
    written,
    "container",
    "path",
    "lock",
    ...(index !== undefined && isLocalAddress(index) ? ["index"] : []),
  );
  if (index !== undefined && isLocalAddress(index))
    draft.notes.push(`environments.${name}.index: ${index} is an address of the other network`);
  placeToolkit(attempt, written, draft);
  draft.add("environments", name, { container, path, lock, ...rest });
  if (lock !== from.config.environments[source]?.lock)
    draft.notes.push(
      `environments.${name}.lock: ${lock} instead of ${from.config.environments[source]?.lock ?? ""}, with which the service is refused on these cards`,
    );
  return { name, path };
}

/** The CUDA toolkit that an environment names. */
function placeToolkit({ from, to }: Attempt, environment: Values, draft: Draft): void {
  const name = environment["toolkit"];
  if (typeof name !== "string" || entriesOf(to.raw, "toolkits")[name] !== undefined) return;
  draft.add("toolkits", name, entriesOf(from.raw, "toolkits")[name] ?? {});
}

/** A model below a directory that the container sees; one that the stack has already is used. */
function placeModel(
  attempt: Attempt,
  source: string,
  container: string,
  mounts: readonly Mount[],
  draft: Draft,
): string {
  const { from, to } = attempt;
  const written = entriesOf(from.raw, "models")[source] ?? {};
  const model = from.config.models[source];
  if (model === undefined) throw new Error(`no model ${source}`);
  const there = Object.entries(to.config.models);
  const same = there.find(
    ([, entry]) =>
      entry.repo === model.repo &&
      entry.revision === model.revision &&
      pathInContainer(entry.path, mounts) !== undefined,
  );
  if (same !== undefined) return same[0];

  const name = freeName(source, [
    ...there.map(([other]) => other),
    ...draft.additions.flatMap((addition) => (addition.path[0] === "models" ? (addition.key ?? []) : [])),
  ]);
  const folder = model.path.split("/").at(-1) ?? name;
  const mount = mounts.find(({ readOnly }) => readOnly);
  let path = model.path;
  if (pathInContainer(path, mounts) === undefined) {
    if (mount !== undefined) path = `${mount.source}/${folder}`;
    else
      draft.additions.push({
        path: ["containers", container, "mounts"],
        value: { source: path.slice(0, path.lastIndexOf("/")), target: "/models" },
      });
  }
  const endpoint = typeof written["endpoint"] === "string" ? written["endpoint"] : undefined;
  const local = endpoint !== undefined && isLocalAddress(endpoint);
  if (local) draft.notes.push(`models.${name}.endpoint: ${endpoint} is an address of the other network`);
  draft.add("models", name, { ...without(written, "path", ...(local ? ["endpoint"] : [])), path });
  return name;
}

/** Services of the container that use one of the cards. */
function sharing(to: Stack, cards: readonly string[]): { name: string; enabled: boolean }[] {
  return Object.values(to.config.services)
    .filter(({ gpus }) => gpus.some((card) => cards.includes(card)))
    .map(({ name, enabled }) => ({ name, enabled }));
}

/** A port that no other service of the container uses at the same time. */
function freePort(to: Stack, container: string, own: number, conflicts: readonly string[]): number {
  const ports = Object.values(to.config.services)
    .filter((service) => service.container === container && !conflicts.includes(service.name))
    .map(({ port }) => port);
  let port = own;
  while (ports.includes(port)) port += 1;
  return port;
}

/** The speculation of a service with its draft model under its new name. */
function placeSpeculation(settings: Values, draftModel: string | undefined): Values {
  if (draftModel === undefined) return settings;
  return { ...settings, speculative: { ...mappingOf(settings, "speculative"), draftModel } };
}

/** The entries that a service needs on these cards. */
export function place(attempt: Attempt): Placement {
  const { from, to, cards } = attempt;
  const present = from.config.services[attempt.service];
  const written = entriesOf(from.raw, "services")[attempt.service];
  if (present === undefined || written === undefined) throw new Error(`no service ${attempt.service}`);
  const draft = new Draft();
  const { name: container, mounts } = placeContainer(attempt, draft);
  const environment = placeEnvironment(attempt, container, draft);
  const model = placeModel(attempt, present.model, container, mounts, draft);
  const draftName = present.speculative?.draftModel;
  const draftModel =
    draftName === undefined ? undefined : placeModel(attempt, draftName, container, mounts, draft);

  const name = freeName(attempt.service, Object.keys(to.config.services));
  if (name !== attempt.service)
    draft.notes.push(`services.${attempt.service} is named ${name}: ${to.name} has one of that name`);
  const carried = carriedSettings(
    written,
    { model: from.config.gpus[present.gpus[0] ?? ""]?.model ?? "", count: present.gpus.length },
    { model: cards.model, count: cards.cards.length },
  );
  draft.notes.push(...carried.dropped.map((text) => `services.${name}.${text}`));
  const others = sharing(to, cards.cards);
  const enabled = present.enabled && others.every((other) => !other.enabled);
  if (present.enabled && !enabled)
    draft.notes.push(
      `services.${name} is not enabled: its cards serve ${others
        .filter((other) => other.enabled)
        .map((other) => other.name)
        .join(", ")}`,
    );
  const conflictsWith = others.map((other) => other.name);
  const port = freePort(to, container, present.port, conflictsWith);
  const all = to.config.containers[container]?.gpus ?? cards.cards;
  const settings = placeSpeculation(carried.settings, draftModel);
  const keepsRelease = attempt.lock === from.config.environments[present.environment]?.lock;
  const lockRelease = readLock(attempt.lock, attempt.projectDirectory).release;
  draft.add("services", name, {
    ...(enabled ? {} : { enabled: false }),
    environment: environment.name,
    model,
    ...(all.length === cards.cards.length ? {} : { gpus: [...cards.cards] }),
    ...without(settings, "port", "user", ...(keepsRelease && lockRelease === undefined ? [] : ["release"])),
    tensorParallel: cards.cards.length,
    ...(port === 30000 ? {} : { port }),
    ...placedUser(written["user"], environment.path),
    ...(conflictsWith.length === 0 ? {} : { conflictsWith }),
    ...carriedAcknowledgements(written),
  });
  return { service: name, additions: draft.additions, notes: draft.notes };
}

/** Only root reads what lies in /root; elsewhere a user that was only root for that reason is none. */
function placedUser(user: unknown, environmentPath: string): Values {
  if (environmentPath.startsWith("/root/")) return { user: "root" };
  return user === undefined || user === "root" ? {} : { user };
}

function carriedAcknowledgements(written: Values): Values {
  return written["acknowledge"] === undefined ? {} : { acknowledge: written["acknowledge"] };
}
