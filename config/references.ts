/** Checks across keys: host, cards, containers and environments. Services: service-references.ts. */
import { hostPart } from "./addresses";
import { pathOf, setCommand, shown, type Problem } from "./problems";
import { NAMESPACE, UNKNOWN, type StackValues } from "./schema";
import { listed, nearest } from "./suggest";
import type { Partially } from "./values";

export type View = Partially<StackValues>;
type Segments = readonly (string | number)[];

/** An error about a value at a path. */
export function problemAt(
  id: string,
  path: Segments,
  value: string | undefined,
  message: string,
  fix: string,
): Problem {
  const text = shown(value);
  return {
    id,
    severity: "error",
    path: pathOf(NAMESPACE, path),
    ...(text === undefined ? {} : { value: text }),
    message,
    fix,
  };
}

/** A name that must be an entry of another key. */
export function unknownName(path: Segments, name: string, key: string, names: readonly string[]): Problem {
  const suggestion = nearest(name, names);
  return problemAt(
    "unknown-name",
    path,
    name,
    `must be an entry of ${key}: ${listed(names)}`,
    suggestion === undefined
      ? `add ${name} to ${NAMESPACE}:${key}, or name an entry of it`
      : `did you mean ${suggestion}?`,
  );
}

/** Finds values that occur twice; the first use is named in the problem of the second. */
export function duplicates(
  uses: readonly { value: string | undefined; path: Segments }[],
  describe: (first: string) => { id: string; message: string; fix: string },
): Problem[] {
  const seen = new Map<string, string>();
  const problems: Problem[] = [];
  for (const { value, path } of uses) {
    if (value === undefined || value === UNKNOWN) continue;
    const first = seen.get(value);
    if (first === undefined) {
      seen.set(value, pathOf(NAMESPACE, path));
      continue;
    }
    const { id, message, fix } = describe(first);
    problems.push(problemAt(id, path, value, message, fix));
  }
  return problems;
}

/** Entries of a map that are structures. */
export function entriesOf<T>(map: Partial<Record<string, T>> | undefined): [string, T][] {
  return Object.entries(map ?? {}).filter((entry): entry is [string, T] => entry[1] !== undefined);
}

function gpuProblems(view: View): Problem[] {
  const cards = entriesOf(view.gpus);
  const identities = cards.flatMap(([name, card]) => {
    if (card.uuid === undefined && card.pci === undefined) {
      return [
        problemAt(
          "gpu-identity",
          ["gpus", name],
          undefined,
          "needs either uuid or pci",
          "`nvidia-smi -L` on the host prints the UUIDs; `uuid: unknown` as long as nobody looked",
        ),
      ];
    }
    if (card.uuid !== undefined && card.pci !== undefined) {
      return [
        problemAt(
          "gpu-identity",
          ["gpus", name],
          undefined,
          "has both uuid and pci, which could name two cards",
          `keep one: pulumi config rm --path '${pathOf(NAMESPACE, ["gpus", name, "pci"])}'`,
        ),
      ];
    }
    return [];
  });
  const twice = (field: "uuid" | "pci") =>
    duplicates(
      cards.map(([name, card]) => ({ value: card[field], path: ["gpus", name, field] })),
      (first) => ({
        id: "duplicate-gpu",
        message: `is the ${field === "uuid" ? "UUID" : "PCI address"} of ${first} too`,
        fix: "each card has its own: `nvidia-smi -L` on the host prints them",
      }),
    );
  return [...identities, ...twice("uuid"), ...twice("pci")];
}

function containerGpuProblems(view: View): Problem[] {
  const problems: Problem[] = [];
  const inventory = Object.keys(view.gpus ?? {});
  const users = new Map<string, string>();
  for (const [name, container] of entriesOf(view.containers)) {
    const mine = new Set<string>();
    for (const [index, gpu] of (container.gpus ?? []).entries()) {
      const path = ["containers", name, "gpus", index];
      if (!inventory.includes(gpu)) problems.push(unknownName(path, gpu, "gpus", inventory));
      else if (mine.has(gpu))
        problems.push(problemAt("gpu-twice", path, gpu, "is in this list already", "name each card once"));
      mine.add(gpu);
    }
    for (const gpu of mine) {
      const other = users.get(gpu);
      if (other === undefined) {
        users.set(gpu, name);
        continue;
      }
      if (container.shared === true && view.containers?.[other]?.shared === true) continue;
      problems.push(
        problemAt(
          "gpu-shared",
          ["containers", name, "gpus"],
          gpu,
          `the card belongs to the container ${other} already`,
          `give each container its own cards, or set shared: true in both (${setCommand(pathOf(NAMESPACE, ["containers", name, "shared"]), "true")})`,
        ),
      );
    }
  }
  return problems;
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

/** Whether an address lies in the network of another one with prefix length. */
function inNetwork(address: string, cidr: string): boolean {
  const [base = "", length = "32"] = cidr.split("/");
  const size = 2 ** (32 - Number(length));
  return Math.floor(numberOf(address) / size) === Math.floor(numberOf(base) / size);
}

function networkProblems(view: View): Problem[] {
  const containers = entriesOf(view.containers);
  const gateways = containers.flatMap(([name, container]) => {
    const { address, gateway } = container.network ?? {};
    if (address === undefined || gateway === undefined) return [];
    if (address === UNKNOWN || gateway === UNKNOWN || inNetwork(gateway, address)) return [];
    const path = ["containers", name, "network", "gateway"];
    return [
      problemAt(
        "gateway-outside",
        path,
        gateway,
        `must lie in the container's network ${address}`,
        `correct the gateway, or the prefix length of the address: ${setCommand(pathOf(NAMESPACE, path))}`,
      ),
    ];
  });
  const addresses = duplicates(
    [
      { value: view.host?.address, path: ["host", "address"] },
      ...containers.map(([name, container]) => ({
        value: container.network?.address && hostPart(container.network.address),
        path: ["containers", name, "network", "address"],
      })),
    ],
    (first) => ({
      id: "duplicate-address",
      message: `is the address of ${first} too`,
      fix: "give each machine its own address",
    }),
  );
  return [...gateways, ...addresses];
}

function containerProblems(view: View): Problem[] {
  const containers = entriesOf(view.containers);
  const ids = duplicates(
    containers.map(([name, container]) => ({
      value: container.vmId?.toString(),
      path: ["containers", name, "vmId"],
    })),
    (first) => ({
      id: "duplicate-vmid",
      message: `is the id of ${first} too`,
      fix: "take an id that is free on the host (`pct list`, `qm list`)",
    }),
  );
  const targets = containers.flatMap(([name, container]) =>
    duplicates(
      (container.mounts ?? []).map((mount, index) => ({
        value: mount.target,
        path: ["containers", name, "mounts", index, "target"],
      })),
      (first) => ({
        id: "duplicate-mount",
        message: `is the target of ${first} too`,
        fix: "give each mount its own target",
      }),
    ),
  );
  return [...ids, ...targets];
}

function environmentProblems(view: View): Problem[] {
  const names = Object.keys(view.containers ?? {});
  const environments = entriesOf(view.environments);
  const containers = environments.flatMap(([name, environment]) =>
    environment.container === undefined || names.includes(environment.container)
      ? []
      : [unknownName(["environments", name, "container"], environment.container, "containers", names)],
  );
  const seen = new Map<string, string>();
  const paths = environments.flatMap(([name, environment]) => {
    if (environment.container === undefined || environment.path === undefined) return [];
    const place = `${environment.container}:${environment.path}`;
    const other = seen.get(place);
    seen.set(place, name);
    if (other === undefined) return [];
    return [
      problemAt(
        "duplicate-path",
        ["environments", name, "path"],
        environment.path,
        `is the path of the environment ${other} in the same container too`,
        "give each environment of a container its own path",
      ),
    ];
  });
  return [...containers, ...paths];
}

/** Problems of host, cards, containers and environments that no single value shows. */
export function referenceProblems(view: View): Problem[] {
  return [
    ...gpuProblems(view),
    ...containerProblems(view),
    ...containerGpuProblems(view),
    ...networkProblems(view),
    ...environmentProblems(view),
  ];
}
