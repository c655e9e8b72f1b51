/** Checks of services that are one part of a server over several containers. Parts of other stacks: plan/fleet-rules.ts. */
import { hostPart } from "./addresses";
import { pathOf, setCommand, type Problem } from "./problems";
import { duplicates, entriesOf, problemAt, type View } from "./references";
import { NAMESPACE, UNKNOWN, type ServiceConfig } from "./schema";
import { containerOf, gpusOf } from "./service-references";
import type { Partially } from "./values";

type Service = Partially<ServiceConfig>;

const GROUP_FLAGS = /^--(nnodes|node-rank|dist-init-addr|nccl-init-addr|dist-timeout)(=|$)/;
/** They change how many cards a node needs; SGLang refuses data parallelism over nodes without DP attention. */
const OTHER_PARALLELISM = /^--(pp-size|pipeline-parallel-size|dp-size|data-parallel-size)(=|$)/;

function argumentProblems(name: string, service: Service): Problem[] {
  return (service.extraArgs ?? []).flatMap((argument, index) => {
    if (argument === undefined) return [];
    const path = ["services", name, "extraArgs", index];
    if (GROUP_FLAGS.test(argument))
      return [
        problemAt(
          "nodes-in-arguments",
          path,
          argument,
          "is planned from the key nodes: health gate, restarts and checks across stacks depend on it",
          `use ${NAMESPACE}:services.${name}.nodes`,
        ),
      ];
    if (service.nodes !== undefined && OTHER_PARALLELISM.test(argument))
      return [
        problemAt(
          "nodes-parallelism",
          path,
          argument,
          "is not planned over several nodes: cards and memory of each are worked out for tensor parallelism alone",
          "take it out; for more throughput put a router in front of several servers",
        ),
      ];
    return [];
  });
}

function sizeProblems(view: View, name: string, service: Service): Problem[] {
  const { count, rank } = service.nodes ?? {};
  if (count === undefined) return [];
  const path = (field: string) => [
    "services",
    name,
    ...(field === "tensorParallel" ? [field] : ["nodes", field]),
  ];
  const problems: Problem[] = [];
  if (rank !== undefined && rank >= count)
    problems.push(
      problemAt(
        "node-rank",
        path("rank"),
        String(rank),
        `must be below the number of nodes: 0 to ${count - 1}`,
        setCommand(pathOf(NAMESPACE, path("rank")), String(count - 1)),
      ),
    );
  const cards = gpusOf(view, service).length;
  const { tensorParallel } = service;
  if (tensorParallel !== undefined && tensorParallel % count !== 0)
    problems.push(
      problemAt(
        "nodes-uneven",
        path("tensorParallel"),
        String(tensorParallel),
        `must be a multiple of the ${count} nodes: each has the same number of cards`,
        setCommand(pathOf(NAMESPACE, path("tensorParallel")), String(count * Math.max(1, cards))),
      ),
    );
  return problems;
}

function ownAddress(view: View, service: Service): string | undefined {
  const container = containerOf(view, service);
  const address = container === undefined ? undefined : view.containers?.[container]?.network?.address;
  return address && hostPart(address);
}

function addressProblems(view: View, name: string, service: Service): Problem[] {
  const { address, rank } = service.nodes ?? {};
  const own = ownAddress(view, service);
  if (address === undefined || own === undefined || address === UNKNOWN || own === UNKNOWN) return [];
  const path = ["services", name, "nodes", "address"];
  if (rank === 0 && address !== own)
    return [
      problemAt(
        "node-address",
        path,
        address,
        `must be the address of rank 0's own container, ${own}: the others find it there`,
        setCommand(pathOf(NAMESPACE, path), own),
      ),
    ];
  if (rank !== undefined && rank > 0 && address === own)
    return [
      problemAt(
        "node-address",
        path,
        address,
        `is the address of this container, which has rank ${rank}; it must be that of rank 0`,
        "take the address of the container of rank 0, from its stack",
      ),
    ];
  return [];
}

/** Rank 0 listens on the port where the group meets too. */
function portProblems(view: View): Problem[] {
  const services = entriesOf(view.services);
  const inContainer = (service: Service, value: number | undefined) => {
    const container = containerOf(view, service);
    return container === undefined || value === undefined
      ? undefined
      : `container ${container}, port ${value}`;
  };
  const served = services.map(([name, service]) => ({
    value: inContainer(service, service.port),
    path: ["services", name, "port"],
  }));
  const taken = [...new Map(served.map((use) => [use.value, use])).values()];
  const meeting = services.flatMap(([name, service]) =>
    service.nodes?.rank === 0
      ? [{ value: inContainer(service, service.nodes.port), path: ["services", name, "nodes", "port"] }]
      : [],
  );
  return duplicates([...taken, ...meeting], (first) => ({
    id: "duplicate-port",
    message: `is taken: ${first}`,
    fix: "give each its own port, the same in every stack of the group",
  }));
}

/** Problems of nodes that no single value shows. */
export function nodeProblems(view: View): Problem[] {
  return [
    ...entriesOf(view.services).flatMap(([name, service]) => [
      ...argumentProblems(name, service),
      ...sizeProblems(view, name, service),
      ...addressProblems(view, name, service),
    ]),
    ...portProblems(view),
  ];
}
