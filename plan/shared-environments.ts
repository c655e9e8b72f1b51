import { UNKNOWN, type StackConfig } from "../config/schema";
import type { EnvironmentPlan } from "./environment-steps";
import { HOST, step, type Step } from "./step";

/** Environments with one content, the first by name, and those of other containers. */
interface Group {
  readonly first: EnvironmentPlan;
  readonly others: readonly EnvironmentPlan[];
}

function groups(plans: readonly EnvironmentPlan[]): Group[] {
  const digests = [...new Set(plans.map(({ digest }) => digest))].filter((digest) => digest !== UNKNOWN);
  return digests.flatMap((digest) => {
    const [first, ...rest] = plans.filter((plan) => plan.digest === digest);
    if (first === undefined) return [];
    // In the same container, its cache of packages makes a second one quick.
    const others = rest.filter(({ container }) => container !== first.container);
    return others.length === 0 ? [] : [{ first, others }];
  });
}

function shareStep(config: StackConfig, wheelhouse: string, plan: EnvironmentPlan, wanted: string): Step {
  const { name, digest, container } = plan;
  return step({
    name: `${name}-share`,
    target: HOST,
    script: "host/environment-share",
    args: { vmid: String(config.containers[container]?.vmId ?? 0), name, digest, wheelhouse, wanted },
    timeoutMinutes: 120,
    removable: true,
    summary: `environment ${name} as it was built, in the wheelhouse, for other containers of the host`,
  });
}

/**
 * In a stack with a wheelhouse, an environment that several containers have is built in the first and shared: the others
 * link to the host's copy. Without a wheelhouse, or without such environments, the plans are returned as they are.
 */
export function shareEnvironments(config: StackConfig, plans: readonly EnvironmentPlan[]): EnvironmentPlan[] {
  const { wheelhouse } = config;
  if (wheelhouse === undefined) return [...plans];
  const shared = groups(plans);
  const wanted = shared.map(({ first }) => first.digest).join(",");
  return plans.map((plan) => {
    if (shared.some(({ first }) => first === plan))
      return { ...plan, share: shareStep(config, wheelhouse.path, plan, wanted) };
    const from = shared.find(({ others }) => others.includes(plan))?.first.name;
    return from === undefined ? plan : { ...plan, sharedFrom: from };
  });
}
