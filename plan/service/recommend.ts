/** The best known way to serve a model on given cards: for `./stack recommend`. */
import { loadRelease, RELEASES, type CatalogModel, type Gpu } from "../../catalog";
import { planService } from "./index";
import type { ServiceInput, ServicePlan } from "./types";

/** A recommendation: the settings of a service, the release, and what the plan says about them. */
export interface Recommendation {
  readonly release: string;
  /** Key `services.<name>` of a stack file, ready to be written out. */
  readonly service: Readonly<Record<string, unknown>>;
  /** The release's requirements, package to specifier. */
  readonly pins: Readonly<Record<string, string>>;
  readonly plan: ServicePlan;
  /** Why this release and not a newer one, and what remains to be known. */
  readonly why: readonly string[];
}

/** A request that nothing of the catalog satisfies. */
export class NothingFits extends Error {}

function inputOf(model: CatalogModel, gpu: Gpu, count: number, release: string): ServiceInput {
  const { speculation } = model;
  // EAGLE-3 needs a draft model that the owner has to choose.
  const speculative =
    speculation?.algorithm === "nextn"
      ? { algorithm: speculation.algorithm, steps: speculation.steps, topk: speculation.topk }
      : undefined;
  return {
    path: "services.recommended",
    gpus: Array.from({ length: count }, () => gpu.name),
    model,
    service: {
      release,
      modelPath: `/models/${model.name}`,
      draftModelPath: undefined,
      servedModelName: model.name,
      listen: "0.0.0.0",
      port: 30000,
      metrics: true,
      env: {},
      extraArgs: [],
      acknowledge: [],
      ...(speculative === undefined ? {} : { speculative }),
    },
  };
}

/** Fewer warnings first; among equals a release that has served the model, then the newest. */
function best(model: CatalogModel, plans: readonly { release: string; plan: ServicePlan }[]) {
  const warnings = ({ plan }: { plan: ServicePlan }) =>
    plan.findings.filter(({ severity }) => severity === "warning").length;
  const unproven = ({ release }: { release: string }) =>
    model.servedWith?.includes(release) === true ? 0 : 1;
  return [...plans].sort((a, b) => warnings(a) - warnings(b) || unproven(a) - unproven(b))[0];
}

/**
 * The release with the fewest warnings on which the model runs without an error; among equals one that is known to
 * have served it, else the newest.
 *
 * @throws NothingFits with the errors of the newest release
 */
export function recommend(model: CatalogModel, gpu: Gpu, count: number): Recommendation {
  const plans = [...RELEASES]
    .reverse()
    .map((release) => ({ release, plan: planService(inputOf(model, gpu, count, release)) }));
  const working = plans.filter(({ plan }) => plan.findings.every(({ severity }) => severity !== "error"));
  const chosen = best(model, working);
  if (chosen === undefined) {
    const errors = plans[0]?.plan.findings.filter(({ severity }) => severity === "error") ?? [];
    const reasons = errors.map(({ id, message, fix }) => `${id}: ${message}; ${fix}`).join("\n");
    throw new NothingFits(`${model.name} cannot be served on ${count} x ${gpu.title}:\n${reasons}`);
  }
  const { release, plan } = chosen;
  const { speculation } = model;
  const proven = model.servedWith?.includes(release) === true;
  const why = [
    `${release} has the fewest known problems with this model on this card${proven ? " and is known to have served it well" : ""}`,
    ...(speculation?.algorithm === "eagle3"
      ? ["speculation needs a draft model: add speculative with its draftModel"]
      : []),
    ...plan.findings.map(({ severity, id, message }) => `${severity} ${id}: ${message}`),
    `model: ${model.evidence}`,
  ];
  const { tp_size: tensorParallel, context_length: contextLength, ...others } = plan.expectedServerInfo;
  const service = {
    release,
    servedModelName: model.name,
    tensorParallel,
    ...(contextLength === undefined ? {} : { contextLength }),
    ...pick(others, {
      mem_fraction_static: "memFractionStatic",
      max_running_requests: "maxRunningRequests",
      quantization: "quantization",
      attention_backend: "attentionBackend",
      moe_runner_backend: "moeRunnerBackend",
      fp4_gemm_runner_backend: "fp4GemmBackend",
      kv_cache_dtype: "kvCacheDtype",
      mamba_scheduler_strategy: "mambaScheduler",
      mamba_radix_cache_strategy: "mambaScheduler",
      reasoning_parser: "reasoningParser",
      tool_call_parser: "toolCallParser",
    }),
    ...(speculation?.algorithm === "nextn"
      ? { speculative: { algorithm: "nextn", steps: speculation.steps, topk: speculation.topk } }
      : {}),
  };
  return { release, service, pins: loadRelease(release).pins, plan, why };
}

/** The values of `from` under the names that a stack file has for them. */
function pick(
  from: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, setting]) =>
      from[name] === undefined ? [] : [[setting, from[name]]],
    ),
  );
}
