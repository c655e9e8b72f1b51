/**
 * Takes services of one stack to the host of another: for each, the cards and the environment on which every check and
 * every rule passes, or the reasons why there are none.
 */
import { parse } from "yaml";
import type { Finding } from "../../catalog";
import { inspectStack } from "../../config/load";
import type { Problem } from "../../config/problems";
import { planStack } from "../stack";
import { plannedModel } from "../service/input";
import { cardSets, type CardSet } from "./cards";
import { withAdditions } from "./edit";
import { lockCandidates, lockProblem } from "./locks";
import { alternatives, type Alternative } from "./nearest";
import { place, type Placement } from "./place";
import type { Stack } from "./values";

export type Reason = Pick<Problem, "id" | "path" | "message" | "fix" | "evidence">;

export interface Moved extends Placement {
  /** Name of the service in the stack that it comes from. */
  readonly from: string;
  readonly cards: CardSet;
  readonly lock: string;
}

export interface Refused {
  readonly from: string;
  /** The cards that were tried, in words. */
  readonly on: string;
  readonly reasons: readonly Reason[];
  /** What the cards can serve. */
  readonly alternatives: readonly Alternative[];
}

export interface Rehoming {
  readonly moved: readonly Moved[];
  readonly refused: readonly Refused[];
  /** The target's stack file with everything that moved. */
  readonly text: string;
  /** The target's stack with it. */
  readonly to: Stack;
}

type Assessed = { stack: Stack } | { reasons: readonly Reason[] };

/** A stack from its file's text: the checks and rules that `check` runs. */
export function stackOf(name: string, text: string, projectDirectory: string): Assessed {
  const { config: raw = {} } = (parse(text) ?? {}) as { config?: Record<string, unknown> };
  const source = `Pulumi.${name}.yaml`;
  const { config, problems } = inspectStack(raw, { source, projectDirectory });
  if (config === undefined) return { reasons: problems.filter(({ severity }) => severity === "error") };
  const plan = planStack(config, projectDirectory);
  const errors = plan.findings.filter(({ severity }: Finding) => severity === "error");
  return errors.length > 0 ? { reasons: errors } : { stack: { name, text, raw, config, plan, problems } };
}

/** Acknowledgements count where their rule still fires; others would say something about other cards. */
function withoutIdleAcknowledgements(placement: Placement, stack: Stack): Placement {
  const findings = stack.plan.services.find(({ name }) => name === placement.service)?.plan.findings ?? [];
  const fires = (entry: unknown): boolean =>
    typeof entry === "object" &&
    entry !== null &&
    findings.some(({ id }) => id === Reflect.get(entry, "rule"));
  const additions = placement.additions.map((addition) => {
    const { acknowledge, ...rest } = addition.value as Record<string, unknown>;
    if (addition.path[0] !== "services" || !Array.isArray(acknowledge)) return addition;
    const kept = (acknowledge as unknown[]).filter(fires);
    return { ...addition, value: kept.length === 0 ? rest : { ...rest, acknowledge: kept } };
  });
  return { ...placement, additions };
}

/** Why an environment is no choice for a card, as a list of one or none. */
function environmentReason(lock: string, gpu: string, projectDirectory: string): Reason[] {
  const message = lockProblem(lock, gpu, projectDirectory);
  if (message === undefined) return [];
  const fix = `name another environment, or add the architecture to environments/${lock}/wheels.toml`;
  return [{ id: "environment-architecture", path: `environments/${lock}`, message, fix }];
}

function inWords({ cards, model }: CardSet): string {
  return `${cards.length} x ${model}`;
}

/** Why a service is not taken at all, whatever the cards. */
function known(from: Stack, to: Stack, service: string): Reason | undefined {
  const present = from.config.services[service];
  if (present?.nodes !== undefined)
    return {
      id: "node-of-a-group",
      path: `services.${service}.nodes`,
      message: `is rank ${present.nodes.rank} of a server over ${present.nodes.count} nodes, whose other parts stay where they are`,
      fix: "move the part by hand, and address in every part with rank 0: docs/how-to/serve-over-several-hosts.md",
    };
  const model = from.config.models[present?.model ?? ""];
  const twin = Object.values(to.config.services).find((other) => {
    const otherModel = to.config.models[other.model];
    return (
      other.servedModelName === present?.servedModelName &&
      otherModel?.repo === model?.repo &&
      otherModel?.revision === model?.revision
    );
  });
  if (twin === undefined) return undefined;
  return {
    id: "served-already",
    path: `services.${service}`,
    message: `${to.name} has the service ${twin.name}, which serves the same model under the same name`,
    fix: `change services.${twin.name} in its stack file instead, or take it out first`,
  };
}

/** A model's name in the catalog, else its repository. */
function catalogName(from: Stack, service: string, projectDirectory: string): string {
  const model = from.config.models[from.config.services[service]?.model ?? ""];
  return plannedModel(model, projectDirectory)?.name ?? model?.repo ?? "";
}

interface Search {
  readonly from: Stack;
  readonly to: Stack;
  readonly projectDirectory: string;
}

function moveOne(
  { from, to, projectDirectory }: Search,
  service: string,
): { moved: Moved; stack: Stack } | Refused {
  const present = from.config.services[service];
  const refusedBy = (on: string, reasons: readonly Reason[]): Refused => {
    return {
      from: service,
      on,
      reasons,
      alternatives: alternatives(to.config, catalogName(from, service, projectDirectory)),
    };
  };
  const already = known(from, to, service);
  if (already !== undefined) return { from: service, on: to.name, reasons: [already], alternatives: [] };

  const sets = cardSets(to.config, {
    model: from.config.gpus[present?.gpus[0] ?? ""]?.model ?? "",
    count: present?.gpus.length ?? 0,
  });
  const ownLock = from.config.environments[present?.environment ?? ""]?.lock ?? "";
  const facts = plannedModel(from.config.models[present?.model ?? ""], projectDirectory);
  const proven = facts?.servedWith ?? [];
  // The reasons that are told are those of the first attempt: the most alike cards, with the service's own environment.
  let first: Refused | undefined;
  for (const cards of sets) {
    const locks = Object.values(to.config.environments)
      .filter(({ container }) => container === cards.container)
      .map(({ lock }) => lock);
    for (const lock of lockCandidates(ownLock, locks, proven, projectDirectory)) {
      const unfit = environmentReason(lock, cards.model, projectDirectory);
      if (unfit.length > 0 && first !== undefined) continue;
      const placement = place({ from, to, service, cards, lock, projectDirectory });
      const result = stackOf(to.name, withAdditions(to.text, placement.additions), projectDirectory);
      const reasons = [...unfit, ...("stack" in result ? [] : result.reasons)];
      if (reasons.length > 0 || !("stack" in result)) {
        first ??= refusedBy(inWords(cards), reasons);
        continue;
      }
      const lean = withoutIdleAcknowledgements(placement, result.stack);
      const stack = stackOf(to.name, withAdditions(to.text, lean.additions), projectDirectory);
      if ("stack" in stack) return { moved: { ...lean, from: service, cards, lock }, stack: stack.stack };
    }
  }
  return (
    first ??
    refusedBy(to.name, [
      {
        id: "no-cards",
        path: "gpus",
        message: `${to.name} declares no cards`,
        fix: "declare its cards (key gpus): ./stack inventory root@HOST",
      },
    ])
  );
}

/**
 * Moves services one after another: each sees what those before it have taken.
 *
 * @param services names in `from`
 */
export function rehome(
  from: Stack,
  to: Stack,
  services: readonly string[],
  projectDirectory: string,
): Rehoming {
  const moved: Moved[] = [];
  const refused: Refused[] = [];
  let target = to;
  for (const service of services) {
    const result = moveOne({ from, to: target, projectDirectory }, service);
    if ("moved" in result) {
      moved.push(result.moved);
      target = result.stack;
    } else refused.push(result);
  }
  return { moved, refused, text: target.text, to: target };
}
