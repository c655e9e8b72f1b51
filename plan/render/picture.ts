import type { StackConfig } from "../../config/schema";
import type { InferenceServicePlan } from "../service-steps";
import type { StackPlan } from "../stack";

/** A box of the picture. Quotes and angle brackets would end a Mermaid label. */
function box(id: string, ...lines: string[]): string {
  return `${id}["${lines.map((line) => line.replace(/["<>]/g, "'")).join("<br/>")}"]`;
}

/** Identifiers of one kind: names may hold characters that Mermaid does not take. */
function identifiers(kind: string, names: readonly string[]): (name: string) => string {
  return (name) => `${kind}${names.indexOf(name)}`;
}

const meetingPoint = ({ address, port }: { address: string; port: number }): string => `${address}:${port}`;

/** Where a service answers; of a server over several nodes only rank 0 does. */
function endpoint({ url, service: { nodes } }: InferenceServicePlan): string {
  if (nodes === undefined) return url;
  return nodes.rank === 0 ? `${url}, rank 0 of ${nodes.count}` : `rank ${nodes.rank} of ${nodes.count}`;
}

/** A Mermaid flowchart: the host with its cards and models, its containers with their environments and services. */
export function topologyPicture(config: StackConfig, plan: StackPlan): string {
  const gpu = identifiers("gpu", Object.keys(config.gpus));
  const model = identifiers("model", Object.keys(config.models));
  const environment = identifiers("environment", Object.keys(config.environments));
  const service = identifiers("service", Object.keys(config.services));
  const router = identifiers("router", Object.keys(config.routers));

  const meetings = [
    ...new Set(
      Object.values(config.services).flatMap(({ nodes }) =>
        nodes === undefined ? [] : [meetingPoint(nodes)],
      ),
    ),
  ];
  const meeting = identifiers("meeting", meetings);

  const cards = Object.entries(config.gpus).map(([name, card]) => box(gpu(name), name, card.model));
  const models = Object.entries(config.models).map(([name, { repo }]) => box(model(name), name, repo));
  const containers = Object.entries(config.containers).flatMap(([name, container], index) => [
    `  subgraph container${index}["container ${container.vmId}: ${name}"]`,
    ...plan.environments
      .filter((entry) => entry.container === name)
      .map((entry) => `    ${box(environment(entry.name), entry.name, entry.path)}`),
    ...plan.services
      .filter((entry) => entry.service.container === name)
      .map(
        (entry) =>
          `    ${box(service(entry.name), entry.name, entry.service.enabled ? endpoint(entry) : "not enabled")}`,
      ),
    ...plan.routers
      .filter((entry) => entry.service.container === name)
      .map(
        (entry) =>
          `    ${box(router(entry.name), entry.name, "router", entry.service.enabled ? entry.url : "not enabled")}`,
      ),
    "  end",
  ]);
  const uses = plan.services.flatMap(({ name, service: entry }) => [
    `${service(name)} --> ${environment(entry.environment)}`,
    `${service(name)} --> ${model(entry.model)}`,
    ...(entry.speculative?.draftModel === undefined
      ? []
      : [`${service(name)} -->|draft| ${model(entry.speculative.draftModel)}`]),
    // Eight arrows from every service would hide the rest.
    ...(entry.gpus.length === cards.length
      ? [`${service(name)} --> cards`]
      : entry.gpus.map((card) => `${service(name)} --> ${gpu(card)}`)),
    // Two parts of one group in this stack have one meeting point.
    ...(entry.nodes === undefined
      ? []
      : [`${service(name)} ---|meets| ${meeting(meetingPoint(entry.nodes))}`]),
  ]);
  const boxes = meetings.map((point) => box(meeting(point), point, "nodes meet"));
  const elsewhere = [
    ...new Set(
      plan.routers
        .flatMap((entry) => entry.service.replicas.filter((one) => one.service === undefined))
        .map(({ url }) => url),
    ),
  ];
  const remote = identifiers("remote", elsewhere);
  const routes = plan.routers.flatMap(({ name, service: entry }) => [
    `${router(name)} --> ${environment(entry.environment)}`,
    ...entry.replicas.map(
      (one) =>
        `${router(name)} -->|replica| ${one.service === undefined ? remote(one.url) : service(one.service)}`,
    ),
  ]);
  return [
    "```mermaid",
    "flowchart LR",
    `subgraph host["${config.host.node}"]`,
    ...(cards.length === 0
      ? []
      : ['  subgraph cards["GPUs"]', ...cards.map((line) => `    ${line}`), "  end"]),
    ...models.map((line) => `  ${line}`),
    ...containers,
    "end",
    ...boxes,
    ...elsewhere.map((url) => box(remote(url), url, "another stack")),
    ...uses,
    ...routes,
    "```",
  ].join("\n");
}
