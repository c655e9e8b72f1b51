import type { ResolvedRouter, StackConfig } from "../config/schema";
import type { EnvironmentPlan } from "./environment-steps";
import { scriptText, shortDigest } from "./script";
import { probePackage, type UnitPlan } from "./service-steps";
import { inContainer, step } from "./step";
import { LIBRARY, ROUTER_LAUNCHER, servicePaths } from "./unit/paths";
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
function specification(
  config: StackConfig,
  router: ResolvedRouter,
  environment: EnvironmentPlan,
  local: string,
): string {
  const content = {
    service: router.name,
    unit: router.unit,
    url: `http://${local}:${router.port}`,
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
  const everywhere = router.listen === "0.0.0.0";
  const address = everywhere ? (container.network.address.split("/")[0] ?? "") : router.listen;
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
  const gate = specification(config, router, environment, everywhere ? "127.0.0.1" : router.listen);
  const restart = shortDigest(
    files[paths.unit] ?? "",
    files[paths.environmentFile] ?? "",
    environment.target,
    launcher,
  );
  const python = `${environment.path}/bin/python3`;
  return {
    name: router.name,
    service: router,
    url: `http://${address}:${router.port}`,
    metricsUrl: `http://${address}:${router.metricsPort}`,
    probeCommand: `pct exec ${container.vmId} --keep-env 0 -- env PYTHONPATH=${LIBRARY} ${python} -m sglang_probe gate --spec ${paths.specification}`,
    step: step({
      name: `${router.name}-service`,
      target: inContainer(container.vmId),
      script: "container/service",
      args: {
        name: router.name,
        unit: router.unit,
        python,
        environment: environment.path,
        target: environment.target,
        restart,
        gate: shortDigest(restart, gate),
        spec: paths.specification,
        user: router.user,
        home: paths.home,
        enabled: String(router.enabled),
        arguments: args.join(" "),
      },
      texts: { ...files, [paths.specification]: gate, [ROUTER_LAUNCHER]: launcher, ...probePackage() },
      secrets: ["serviceApiKey"],
      timeoutMinutes: router.startTimeoutMinutes * 2 + 20,
      removable: true,
      summary: router.enabled
        ? `${router.unit}: started, held to its health gate (every replica, a right answer), rolled back when it fails`
        : `${router.unit}: installed, neither started nor enabled`,
    }),
  };
}

/** The routers of a stack; their environments must be planned already. */
export function planRouters(config: StackConfig, environments: readonly EnvironmentPlan[]): RouterPlan[] {
  return Object.values(config.routers).map((router) => planRouter(config, router, environments));
}
