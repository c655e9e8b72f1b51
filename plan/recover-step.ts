import type { StackConfig } from "../config/schema";
import { cardId } from "./host-steps";
import type { InferenceServicePlan } from "./service-steps";
import type { UnitPlan } from "./unit-step";
import { step, type Step } from "./step";
import { servicePaths } from "./unit/paths";

/** Arguments that recovery has in common with the service's own step. */
const SHARED = ["name", "unit", "python", "environment", "spec"] as const;

/** The cards of a service and what must be free on each; a router has none. */
function cardArguments(config: StackConfig, unit: UnitPlan | InferenceServicePlan) {
  if (!("plan" in unit)) return { cards: "", freeMiB: "" };
  const cards = unit.service.gpus.map((gpu) => config.gpus[gpu]).filter((gpu) => gpu !== undefined);
  return { cards: cards.map(cardId).join(","), freeMiB: String(unit.plan.freeMiBPerGpu ?? "") };
}

/** The step that brings a service which passed its gate before back to health; no part of an `up`. */
export function recoverStep(config: StackConfig, unit: UnitPlan | InferenceServicePlan): Step {
  const { name, service, step: own } = unit;
  return step({
    name: `${name}-recover`,
    target: own.target,
    script: "container/recover",
    args: {
      ...Object.fromEntries(SHARED.map((key) => [key, own.args[key] ?? ""])),
      ...cardArguments(config, unit),
      metrics: servicePaths(name).probeMetrics,
    },
    // Stop, free the cards, start, gate.
    timeoutMinutes: service.startTimeoutMinutes + Math.ceil(service.stopTimeoutSeconds / 60) + 10,
    summary: `${service.unit}: stopped, its cards freed of what it left, started, held to its health gate`,
  });
}
