import { localUrlOf, urlOf } from "../config/addresses";
import type { ResolvedRouter, StackConfig } from "../config/schema";
import type { EnvironmentPlan } from "./environment-steps";
import { scriptText, shortDigest } from "./script";
import { planUnit, type UnitPlan } from "./unit-step";
import { ROUTER_LAUNCHER, servicePaths } from "./unit/paths";
import { renderRouterFiles } from "./unit/router-files";

/** A router in front of replicas, and the step that brings it to run. */
export interface RouterPlan extends UnitPlan {
  readonly service: ResolvedRouter;
  /** Where Prometheus finds its metrics. */
  readonly metricsUrl: string;
}

/** Seconds between two looks at each replica; the router's own 60 leave a dead one in the list for minutes. */
const HEALTH_CHECK_SECONDS = 10;

/**
 * The router never looks again for a replica that it did not find within this time after its start, and a host that is
 * away can come back days later: so it goes on looking for a year.
 */
const STARTUP_SECONDS = 31_536_000;

/** Seconds between two looks for a replica that was not there yet. */
const STARTUP_CHECK_SECONDS = 5;

function routerArguments(router: ResolvedRouter): string[] {
  const flags: Record<string, string | number> = {
    "--host": router.listen,
    "--port": router.port,
    "--policy": router.policy,
    "--prometheus-host": router.listen,
    "--prometheus-port": router.metricsPort,
    "--health-check-interval-secs": HEALTH_CHECK_SECONDS,
    "--worker-startup-timeout-secs": STARTUP_SECONDS,
    "--worker-startup-check-interval": STARTUP_CHECK_SECONDS,
    "--shutdown-grace-period-secs": router.stopTimeoutSeconds,
    "--log-level": "warn",
  };
  return [
    "--worker-urls",
    ...router.replicas.map(({ url }) => url),
    ...Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)]),
  ];
}

/** What preflight, gate and repeated probe compare the router with. */
function specification(config: StackConfig, router: ResolvedRouter, environment: EnvironmentPlan): string {
  const content = {
    service: router.name,
    unit: router.unit,
    url: localUrlOf(router),
    servedModelName: router.servedModelName,
    replicas: router.replicas.map(({ url }) => url),
    deadlineSeconds: router.startTimeoutMinutes * 60,
    ...(config.secrets.includes("serviceApiKey") ? { apiKeyFile: servicePaths(router.name).apiKey } : {}),
    environmentDigest: environment.digest,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function planRouter(
  config: StackConfig,
  router: ResolvedRouter,
  environments: readonly EnvironmentPlan[],
): RouterPlan {
  const environment = environments.find(({ name }) => name === router.environment);
  const container = config.containers[router.container];
  if (!environment || !container) throw new Error(`router ${router.name}: a reference is broken`);
  const paths = servicePaths(router.name);
  const args = routerArguments(router);
  const files = renderRouterFiles({
    name: router.name,
    node: config.host.node,
    title: `SGLang router: ${router.servedModelName}`,
    user: router.user,
    environmentPath: environment.path,
    arguments: args,
    after: router.replicas.flatMap(({ service }) => {
      const replica = service === undefined ? undefined : config.services[service];
      return replica?.container === router.container ? [replica.unit] : [];
    }),
    stopTimeoutSeconds: router.stopTimeoutSeconds,
    probeIntervalMinutes: router.probeIntervalMinutes,
    apiKey: config.secrets.includes("serviceApiKey"),
  });
  const launcher = scriptText("probe/launch_router.py");
  const restart = shortDigest(
    files[paths.unit] ?? "",
    files[paths.environmentFile] ?? "",
    environment.target,
    launcher,
  );
  return {
    ...planUnit({
      service: router,
      container,
      environment,
      files: { ...files, [ROUTER_LAUNCHER]: launcher },
      specification: specification(config, router, environment),
      restart,
      arguments: args,
      gate: " (every replica, a right answer)",
    }),
    service: router,
    metricsUrl: urlOf({ ...router, port: router.metricsPort }, container.network.address),
  };
}

/** The routers of a stack; their environments must be planned already. */
export function planRouters(config: StackConfig, environments: readonly EnvironmentPlan[]): RouterPlan[] {
  return Object.values(config.routers).map((router) => planRouter(config, router, environments));
}
