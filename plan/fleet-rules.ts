/** Checks across stacks: the parts of one server over several containers. Asks no machine. */
import { pathOf, type Problem } from "../config/problems";
import { NAMESPACE, UNKNOWN, type ResolvedService, type StackConfig } from "../config/schema";
import type { InferenceServicePlan } from "./service-steps";
import type { StackPlan } from "./stack";

/** A stack whose own configuration and plan have no errors. */
export interface PlannedStack {
  readonly name: string;
  readonly config: StackConfig;
  readonly plan: StackPlan;
}

/** One part of a server over several containers. */
interface Part {
  readonly stack: PlannedStack;
  readonly unit: InferenceServicePlan;
  readonly nodes: NonNullable<ResolvedService["nodes"]>;
}

/** Flags that every part has for itself. */
const OWN_FLAGS = ["--node-rank", "--model-path", "--speculative-draft-model-path", "--host", "--port"];
/** Variables that every part has for itself. */
const OWN_VARIABLES = ["SGLANG_HOST_IP", "CUDA_HOME"];

function partsOf(stack: PlannedStack): Part[] {
  return stack.plan.services.flatMap((unit) =>
    unit.service.nodes === undefined ? [] : [{ stack, unit, nodes: unit.service.nodes }],
  );
}

const label = ({ stack, unit }: Part): string => `${stack.name}/${unit.name}`;

function problem(
  id: string,
  severity: Problem["severity"],
  part: Part,
  field: string,
  message: string,
  fix: string,
): Problem {
  const path = pathOf(NAMESPACE, ["services", part.unit.name, ...field.split(".")]);
  return { id, severity, path: `${part.stack.name}: ${path}`, message, fix };
}

/** Arguments by flag; a flag without a value has an empty one. */
function flagsOf(args: readonly string[]): Map<string, string> {
  const flags = new Map<string, string>();
  let last = "";
  for (const word of args) {
    if (word.startsWith("--")) last = word;
    flags.set(last, word === last ? "" : `${flags.get(last) ?? ""} ${word}`.trim());
  }
  for (const flag of OWN_FLAGS) flags.delete(flag);
  return flags;
}

/** What must be the same in every part, each under the field that decides it. */
function commonValues({ stack: { config }, unit }: Part): Map<string, string> {
  const { service, plan } = unit;
  const model = config.models[service.model];
  const variables = Object.entries(plan.env).filter(([name]) => !OWN_VARIABLES.includes(name));
  return new Map([
    ["environment", unit.step.args["target"]?.split("/").at(-1) ?? ""],
    ["model", `${model?.repo ?? ""} at ${model?.revision ?? ""}`],
    ["enabled", String(service.enabled)],
    ...flagsOf(plan.args),
    ...variables.map(([name, value]): [string, string] => [`env.${name}`, value]),
  ]);
}

function differences(first: Part, other: Part): Problem[] {
  const [wanted, found] = [commonValues(first), commonValues(other)];
  const names = [...new Set([...wanted.keys(), ...found.keys()])].filter(
    (name) => wanted.get(name) !== found.get(name),
  );
  return names.map((name) => {
    const shown = (values: Map<string, string>): string => {
      const value = values.get(name);
      return value === undefined ? "not there" : value === "" ? "stated" : value;
    };
    return problem(
      "nodes-differ",
      "error",
      other,
      name.startsWith("--") ? "nodes" : name,
      `${name.startsWith("--") ? `${name} ` : ""}is ${shown(found)}, but ${shown(wanted)} in ${label(first)}: all nodes of a server run the same`,
      "make both stacks say the same",
    );
  });
}

function rankProblems(parts: readonly Part[]): Problem[] {
  const taken = new Map<number, Part>();
  const twice = parts.flatMap((part) => {
    const earlier = taken.get(part.nodes.rank);
    if (earlier === undefined) {
      taken.set(part.nodes.rank, part);
      return [];
    }
    return [
      problem(
        "node-rank-twice",
        "error",
        part,
        "nodes.rank",
        `${part.nodes.rank} is the rank of ${label(earlier)} too`,
        "give each node its own rank, from 0",
      ),
    ];
  });
  const [first] = parts;
  if (first === undefined) return twice;
  const missing = Array.from({ length: first.nodes.count }, (_, rank) => rank).filter(
    (rank) => !taken.has(rank),
  );
  if (missing.length === 0) return twice;
  return [
    ...twice,
    problem(
      "node-missing",
      "warning",
      first,
      "nodes",
      `of ${first.nodes.count} nodes that meet at ${first.nodes.address}:${first.nodes.port} rank ${missing.join(", ")} is in none of these stacks`,
      "name its stack too: ./stack check STACK STACK…",
    ),
  ];
}

/** What is wrong between the parts of servers that these stacks share; empty where none is. */
export function groupProblems(stacks: readonly PlannedStack[]): Problem[] {
  const groups = new Map<string, Part[]>();
  for (const part of stacks.flatMap(partsOf)) {
    const { address, port } = part.nodes;
    if (address === UNKNOWN) continue;
    const key = `${address}:${port}`;
    groups.set(key, [...(groups.get(key) ?? []), part]);
  }
  return [...groups.values()].flatMap((parts) => {
    const [first, ...others] = [...parts].sort((a, b) => a.nodes.rank - b.nodes.rank);
    if (first === undefined) return [];
    return [...rankProblems(parts), ...others.flatMap((other) => differences(first, other))];
  });
}
