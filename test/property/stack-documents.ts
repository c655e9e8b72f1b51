/** Stack files: right ones, and such with one thing wrong. Keys without their namespace. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { stackSchema } from "../../config/schema";
import { anyText } from "./strings";
import { valuesOf } from "./schema-values";

type Entry = Record<string, unknown>;
type Entries = Record<string, Entry>;
export type Keys = Record<string, unknown>;

const LOCK = "sglang-0.5.11";
const SECRET = /(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|PRIVATE_?KEY)(_|$)/i;

/** A project with one lock. */
export function projectWithLock(): string {
  const project = mkdtempSync(path.join(tmpdir(), "property-"));
  mkdirSync(path.join(project, "environments", LOCK), { recursive: true });
  writeFileSync(path.join(project, "environments", "uv.lock.txt"), "uv==0.11.26 --hash=sha256:00\n");
  writeFileSync(
    path.join(project, "environments", LOCK, "requirements.lock"),
    "sglang==0.5.11 --hash=sha256:00\n",
  );
  return project;
}

function without(entry: Entry, ...names: string[]): Entry {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)));
}

function mapped(entries: unknown, change: (entry: Entry, index: number, name: string) => Entry): Entries {
  return Object.fromEntries(
    Object.entries((entries ?? {}) as Entries).map(([name, entry], index) => [
      name,
      change(entry, index, name),
    ]),
  );
}

/** Mounts with targets of their own, and one that reaches the models. */
function mountsOf(entry: Entry): Entry[] {
  const generated = ((entry["mounts"] ?? []) as Entry[]).filter(
    ({ source }) => !String(source).startsWith("/srv"),
  );
  const targets = generated.map((mount, index) => ({ ...mount, target: `/generated${index}` }));
  return [{ source: "/srv/models", target: "/models" }, ...targets];
}

/** Makes generated values fit one another: names name something, and nothing that must be unique is there twice. */
function connected(keys: Keys): Keys {
  const gpus = mapped(keys["gpus"], (gpu, index) => ({
    model: gpu["model"],
    uuid: `GPU-${String(index).padStart(8, "0")}-0000-0000-0000-000000000000`,
  }));
  const containers = mapped(keys["containers"], (container, index) => ({
    ...container,
    vmId: 100 + index,
    gpus: index === 0 ? Object.keys(gpus) : [],
    mounts: mountsOf(container),
    network: {
      ...(container["network"] as Entry),
      address: `192.0.2.${10 + index}/24`,
      gateway: "192.0.2.1",
    },
  }));
  const container = Object.keys(containers)[0];
  const environments = mapped(keys["environments"], (environment, index) => ({
    ...without(environment, "toolkit"),
    container,
    lock: LOCK,
    path: ["/opt/ml-env", "/root/ml-env"][index],
    python: "3.11",
  }));
  const models = mapped(keys["models"], (model, index) => ({
    ...without(model, "catalog"),
    path: `/srv/models/m${index}`,
  }));
  const names = Object.keys((keys["services"] ?? {}) as Entries);
  const services = mapped(keys["services"], (service, index, name) => ({
    ...without(service, "gpus", "tensorParallel", "release", "speculative", "replaces", "nodes", "user"),
    environment: Object.keys(environments)[0],
    model: Object.keys(models)[index % Object.keys(models).length],
    enabled: index === 0,
    port: 30000 + index,
    conflictsWith: names.filter((other) => other !== name),
    env: Object.fromEntries(
      Object.entries((service["env"] ?? {}) as Entry).filter(
        ([variable]) => variable !== "__proto__" && !SECRET.test(variable),
      ),
    ),
    extraArgs: ((service["extraArgs"] ?? []) as string[]).filter((argument) => !argument.startsWith("--")),
  }));
  return { ...keys, gpus, containers, environments, models, services };
}

const { shape } = stackSchema;

/** Stack files without a mistake. */
export const rightStacks: fc.Arbitrary<Keys> = fc
  .record({
    host: valuesOf(shape.host),
    driver: valuesOf(shape.driver),
    gpus: valuesOf(shape.gpus),
    containers: valuesOf(shape.containers),
    wheelhouse: valuesOf(shape.wheelhouse),
    environments: valuesOf(shape.environments),
    models: valuesOf(shape.models),
    services: valuesOf(shape.services),
  })
  .map(connected);

type Place = readonly (string | number)[];

/** Every place in a value, its own root left out. */
function placesIn(value: unknown, above: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const place = [...above, Array.isArray(value) ? Number(key) : key];
    return [place, ...placesIn(inner, place)];
  });
}

const nested = (depth: number): unknown => {
  let value: unknown = [];
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

const wrongValues: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: anyText },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      0,
      -1,
      1.5,
      1e21,
      2 ** 53,
      [],
      {},
      [[]],
      [null],
      { a: {} },
      nested(200),
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** What is done to a right stack file. */
const mistakes = fc.record({
  where: fc.nat(),
  what: fc.constantFrom("replace", "remove", "rename", "add"),
  value: wrongValues,
  name: anyText,
});

function at(root: unknown, place: Place): Entry {
  return place.reduce<unknown>((value, key) => (value as Entry)[key], root) as Entry;
}

function set(holder: object, name: string | number, value: unknown): void {
  // An assignment to __proto__ would be none.
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Stack files with one mistake, most of the time. */
export const wrongStacks: fc.Arbitrary<Keys> = fc.tuple(rightStacks, mistakes).map(([right, mistake]) => {
  const keys = structuredClone(right);
  const places = placesIn(keys);
  const place = places[mistake.where % places.length] ?? [];
  const holder = at(keys, place.slice(0, -1));
  const key = place.at(-1) ?? "";
  if (mistake.what === "add" && !Array.isArray(holder)) set(holder, mistake.name, mistake.value);
  else if (mistake.what === "rename" && !Array.isArray(holder)) {
    set(holder, mistake.name, holder[key]);
    if (mistake.name !== key) delete holder[key];
  } else if (mistake.what === "remove" && !Array.isArray(holder)) delete holder[key];
  else set(holder, key, mistake.value);
  return keys;
});

/** As Pulumi hands a stack over: structures as JSON texts. */
export function handedOver(keys: Keys): Record<string, string> {
  const texts = Object.entries(keys).flatMap(([key, value]): [string, string][] => {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? [] : [[`proxmox-gpu-stack:${key}`, text]];
  });
  return { ...Object.fromEntries(texts), "proxmox-gpu-stack:apiPassword": "x" };
}
