/** Checks across keys: routers, the services behind them, and their environments. */
import { ROUTER_RELEASES, routerPolicies } from "../catalog/router";
import { readLock } from "./lock";
import { pathOf, setCommand, type Problem } from "./problems";
import { duplicates, entriesOf, problemAt, unknownName, type View } from "./references";
import { NAMESPACE, type RouterConfig } from "./schema";
import { containerOf } from "./service-references";
import { listed } from "./suggest";
import type { Partially } from "./values";

type Router = Partially<RouterConfig>;

const isAddress = (replica: string) => replica.startsWith("http://");

/** Unit names are made of both keys' names. */
function nameProblems(view: View, name: string): Problem[] {
  const path = ["routers", name];
  if (name.endsWith("-probe"))
    return [
      problemAt(
        "reserved-name",
        path,
        undefined,
        "ends in -probe, as the units of repeated probes do",
        "rename the router",
      ),
    ];
  if (view.services?.[name] === undefined) return [];
  return [
    problemAt(
      "duplicate-name",
      path,
      undefined,
      `is the name of a service too, and both would be sglang-${name}.service`,
      "rename the router",
    ),
  ];
}

function environmentProblems(view: View, name: string, router: Router, projectDirectory: string): Problem[] {
  if (router.environment === undefined) return [];
  const path = ["routers", name, "environment"];
  const environment = view.environments?.[router.environment];
  if (environment === undefined)
    return [unknownName(path, router.environment, "environments", Object.keys(view.environments ?? {}))];
  if (environment.lock === undefined) return [];
  const lock = readLock(environment.lock, projectDirectory);
  if (!lock.lockExists) return []; // said about the environment itself
  const release = lock.routerRelease;
  const policies = release === undefined ? undefined : routerPolicies(release);
  if (policies === undefined)
    return [
      problemAt(
        "router-release",
        path,
        router.environment,
        release === undefined
          ? `its lock ${environment.lock} holds no sglang-router`
          : `its lock ${environment.lock} holds sglang-router ${release}; known are ${listed(ROUTER_RELEASES)}`,
        `name an environment with the lock sglang-router-${ROUTER_RELEASES.at(-1) ?? ""}`,
      ),
    ];
  if (router.policy === undefined || policies.includes(router.policy)) return [];
  return [
    problemAt(
      "router-policy",
      ["routers", name, "policy"],
      router.policy,
      `sglang-router ${release ?? ""} knows ${listed(policies)}`,
      setCommand(pathOf(NAMESPACE, ["routers", name, "policy"]), "cache_aware"),
    ),
  ];
}

function replicaProblem(view: View, name: string, router: Router, index: number): Problem[] {
  const replica = router.replicas?.[index];
  if (replica === undefined || isAddress(replica)) return [];
  const path = ["routers", name, "replicas", index];
  const service = view.services?.[replica];
  if (service === undefined)
    return [unknownName(path, replica, "services", Object.keys(view.services ?? {}))];
  if (service.enabled === false && router.enabled !== false)
    return [
      problemAt(
        "replica-not-enabled",
        path,
        replica,
        "is a service that is not enabled, so that the router would never find it",
        setCommand(pathOf(NAMESPACE, ["services", replica, "enabled"]), "true"),
      ),
    ];
  if ((service.nodes?.rank ?? 0) > 0)
    return [
      problemAt(
        "replica-answers-nothing",
        path,
        replica,
        `is rank ${service.nodes?.rank ?? ""} of a server over several nodes; only rank 0 answers`,
        "name the service of rank 0, or its address",
      ),
    ];
  const own =
    router.environment === undefined ? undefined : view.environments?.[router.environment]?.container;
  if (service.listen?.startsWith("127.") === true && containerOf(view, service) !== own)
    return [
      problemAt(
        "replica-hidden",
        path,
        replica,
        `listens on ${service.listen} only, and the router runs in another container`,
        setCommand(pathOf(NAMESPACE, ["services", replica, "listen"]), "0.0.0.0"),
      ),
    ];
  return [];
}

/** The router does not look at the model that a request names: every replica must answer for the same one. */
function modelProblems(view: View, name: string, router: Router): Problem[] {
  const replicas = (router.replicas ?? []).filter((replica) => replica !== undefined);
  const named = replicas.map((replica) => view.services?.[replica]?.servedModelName);
  const models = [...new Set([router.servedModelName, ...named])].filter((model) => model !== undefined);
  if (models.length > 1)
    return [
      problemAt(
        "replicas-differ",
        ["routers", name, "replicas"],
        undefined,
        `one router serves one model, but these are ${listed(models)}: a request would be answered by any of them`,
        "give each model a router of its own",
      ),
    ];
  if (models.length === 1 || replicas.length === 0 || !replicas.every(isAddress)) return [];
  const path = ["routers", name, "servedModelName"];
  return [
    problemAt(
      "replica-model-unknown",
      path,
      undefined,
      "is missing; replicas are addresses alone, which do not tell it",
      setCommand(pathOf(NAMESPACE, path), "NAME"),
    ),
  ];
}

/** Ports of one container, of services and routers. */
function portProblems(view: View): Problem[] {
  const inContainer = (container: string | undefined, value: number | undefined) =>
    container === undefined || value === undefined ? undefined : `container ${container}, port ${value}`;
  const services = entriesOf(view.services).map(([name, service]) => ({
    value: inContainer(containerOf(view, service), service.port),
    path: ["services", name, "port"],
  }));
  // Services among themselves: service-pairs.ts, where conflicts are known.
  const taken = [...new Map(services.map((use) => [use.value, use])).values()];
  const own = entriesOf(view.routers).flatMap(([name, { environment, port, metricsPort }]) => {
    const container = environment === undefined ? undefined : view.environments?.[environment]?.container;
    return [
      { value: inContainer(container, port), path: ["routers", name, "port"] },
      { value: inContainer(container, metricsPort), path: ["routers", name, "metricsPort"] },
    ];
  });
  return duplicates([...taken, ...own], (first) => ({
    id: "duplicate-port",
    message: `is taken: ${first}`,
    fix: "give each its own port",
  }));
}

/** Problems of routers that no single value shows. */
export function routerProblems(view: View, projectDirectory: string): Problem[] {
  return [
    ...entriesOf(view.routers).flatMap(([name, router]) => [
      ...nameProblems(view, name),
      ...environmentProblems(view, name, router, projectDirectory),
      ...(router.replicas ?? []).flatMap((_, index) => replicaProblem(view, name, router, index)),
      ...duplicates(
        (router.replicas ?? []).map((replica, index) => ({
          value: replica,
          path: ["routers", name, "replicas", index],
        })),
        (first) => ({ id: "replica-twice", message: `is ${first} too`, fix: "name each replica once" }),
      ),
      ...modelProblems(view, name, router),
    ]),
    ...portProblems(view),
  ];
}
