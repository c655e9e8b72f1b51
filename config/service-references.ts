/** Checks across keys: services, and what they use. */
import { dirname } from "node:path";
import { readLock, type Lock } from "./lock";
import { pathInContainer } from "./mounts";
import { pathOf, setCommand, type Problem } from "./problems";
import { secretIn } from "./secret-forms";
import { entriesOf, problemAt, unknownName, type View } from "./references";
import { NAMESPACE, SECRETS } from "./schema";
import { listed } from "./suggest";
import type { Partially } from "./values";
import type { ServiceConfig } from "./schema";

type Service = Partially<ServiceConfig>;

const SECRET_NAME = /(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|PRIVATE_?KEY)(_|$)/i;
const SECRET_ARGUMENT = /^--(api-key|admin-api-key|ssl-keyfile-password)(=|$)/;

/** Name of the container that a service runs in. */
export function containerOf(view: View, service: Service): string | undefined {
  return service.environment === undefined ? undefined : view.environments?.[service.environment]?.container;
}

/** The cards of a service: those stated, or all of its container. */
export function gpusOf(view: View, service: Service): string[] {
  const container = containerOf(view, service);
  const own = container === undefined ? undefined : view.containers?.[container]?.gpus;
  return (service.gpus ?? own ?? []).filter((gpu) => gpu !== undefined);
}

function nameProblems(view: View, name: string, service: Service): Problem[] {
  const references: [string | undefined, string, (string | number)[]][] = [
    [service.environment, "environments", ["environment"]],
    [service.model, "models", ["model"]],
    [service.speculative?.draftModel, "models", ["speculative", "draftModel"]],
    ...(service.conflictsWith ?? []).map((other, index): [string, string, (string | number)[]] => [
      other,
      "services",
      ["conflictsWith", index],
    ]),
  ];
  return references.flatMap(([value, key, tail]) => {
    const path = ["services", name, ...tail];
    const names = Object.keys(view[key as keyof View] ?? {});
    if (value === undefined) return [];
    if (key === "services" && value === name)
      return [problemAt("self-conflict", path, value, "is this service itself", "name the other service")];
    return names.includes(value) ? [] : [unknownName(path, value, key, names)];
  });
}

function gpuProblems(view: View, name: string, service: Service): Problem[] {
  const container = containerOf(view, service);
  const available = container === undefined ? undefined : view.containers?.[container]?.gpus;
  if (available === undefined) return [];
  const foreign = (service.gpus ?? []).flatMap((gpu, index) =>
    available.includes(gpu)
      ? []
      : [
          problemAt(
            "gpu-not-in-container",
            ["services", name, "gpus", index],
            gpu,
            `must be a card of the container ${container as string}: ${listed(available)}`,
            `add the card to ${NAMESPACE}:containers.${container as string}.gpus, or name one of these`,
          ),
        ],
  );
  const count = gpusOf(view, service).length;
  const nodes = service.nodes?.count ?? 1;
  const tensorParallel = service.tensorParallel;
  if (count === 0)
    return [
      ...foreign,
      problemAt(
        "service-without-gpu",
        ["services", name],
        undefined,
        `the container ${container as string} has no cards`,
        setCommand(pathOf(NAMESPACE, ["containers", container as string, "gpus[0]"]), "NAME"),
      ),
    ];
  if (tensorParallel === undefined || tensorParallel <= count * nodes) return foreign;
  const path = ["services", name, "tensorParallel"];
  return [
    ...foreign,
    problemAt(
      "too-few-gpus",
      path,
      String(tensorParallel),
      `must be at most ${count * nodes}, the number of the service's cards${nodes === 1 ? "" : ` on ${nodes} nodes`}`,
      setCommand(pathOf(NAMESPACE, path), String(count * nodes)),
    ),
  ];
}

function modelPathProblems(view: View, name: string, service: Service): Problem[] {
  const container = containerOf(view, service);
  const mounts = container === undefined ? undefined : view.containers?.[container]?.mounts;
  if (container === undefined || mounts === undefined) return [];
  return [service.model, service.speculative?.draftModel].flatMap((model) => {
    const hostPath = model === undefined ? undefined : view.models?.[model]?.path;
    if (hostPath === undefined) return [];
    const parent = dirname(hostPath);
    if (mounts.some(({ source }) => source === hostPath)) {
      return [
        problemAt(
          "model-mounted-itself",
          ["models", model as string, "path"],
          hostPath,
          `is itself a mount of the container ${container}: a new revision takes its place by renaming, and the container would keep the old folder`,
          `mount the folder above it: { source: ${parent}, target: … } in ${NAMESPACE}:containers.${container}.mounts`,
        ),
      ];
    }
    if (pathInContainer(hostPath, mounts) !== undefined) return [];
    return [
      problemAt(
        "model-not-mounted",
        ["models", model as string, "path"],
        hostPath,
        `no mount of the container ${container} (service ${name}) reaches it; mounted: ${listed(mounts.flatMap((mount) => mount.source ?? []))}`,
        `add { source: ${parent}, target: ${parent} } to ${NAMESPACE}:containers.${container}.mounts`,
      ),
    ];
  });
}

function releaseProblems(name: string, service: Service, lock: Lock | undefined): Problem[] {
  const path = ["services", name, "release"];
  if (service.release === undefined) {
    if (lock === undefined || !lock.lockExists || lock.release !== undefined) return [];
    return [
      problemAt(
        "release-unknown",
        path,
        undefined,
        "is missing, and the lock of its environment has no line sglang==",
        setCommand(pathOf(NAMESPACE, path), "0.5.11"),
      ),
    ];
  }
  if (lock?.release === undefined || lock.release === service.release) return [];
  return [
    problemAt(
      "release-differs",
      path,
      service.release,
      `must be what the lock of its environment holds: ${lock.release}`,
      `take the key out, or change the lock: pulumi config rm --path '${pathOf(NAMESPACE, path)}'`,
    ),
  ];
}

function secretProblems(name: string, service: Service): Problem[] {
  const fix = `use the secrets' own keys: pulumi config set --secret ${NAMESPACE}:serviceApiKey (or ${listed(Object.keys(SECRETS).slice(0, 4))})`;
  const variables = Object.entries(service.env ?? {})
    .filter(([variable, value]) => SECRET_NAME.test(variable) || secretIn(value ?? "") !== undefined)
    .map(([variable]) =>
      problemAt(
        "secret-in-structure",
        ["services", name, "env", variable],
        undefined,
        "looks like a secret; a unit's environment is readable",
        fix,
      ),
    );
  const args = (service.extraArgs ?? []).flatMap((argument, index) =>
    SECRET_ARGUMENT.test(argument) || secretIn(argument) !== undefined
      ? [
          problemAt(
            "secret-in-structure",
            ["services", name, "extraArgs", index],
            undefined,
            "puts a secret on a command line, which everyone on the machine can read",
            fix,
          ),
        ]
      : [],
  );
  return [...variables, ...args];
}

/** A file of arguments is read by the server alone: no rule and no preview would see what it says. */
function hiddenArgumentProblems(name: string, service: Service): Problem[] {
  return (service.extraArgs ?? []).flatMap((argument, index) =>
    /^--config(=|$)/.test(argument)
      ? [
          problemAt(
            "hidden-arguments",
            ["services", name, "extraArgs", index],
            argument,
            "hides arguments from the rules and from previews, and is how the server gets its API key",
            "write the arguments themselves into extraArgs",
          ),
        ]
      : [],
  );
}

function speculationProblems(name: string, service: Service): Problem[] {
  const { algorithm, draftModel } = service.speculative ?? {};
  const path = ["services", name, "speculative", "draftModel"];
  if (algorithm === "eagle3" && draftModel === undefined)
    return [
      problemAt(
        "draft-model",
        path,
        undefined,
        "is missing; eagle3 drafts with a model of its own",
        setCommand(pathOf(NAMESPACE, path), "NAME"),
      ),
    ];
  if (algorithm === "nextn" && draftModel !== undefined)
    return [
      problemAt(
        "draft-model",
        path,
        draftModel,
        "nextn drafts with the model's own layer and takes no draft model",
        `pulumi config rm --path '${pathOf(NAMESPACE, path)}'`,
      ),
    ];
  return [];
}

function userProblems(view: View, name: string, service: Service): Problem[] {
  const environment =
    service.environment === undefined ? undefined : view.environments?.[service.environment];
  const inRoot = environment?.path?.startsWith("/root/") === true;
  if (!inRoot || service.user === "root") return [];
  const path = ["services", name, "user"];
  return [
    problemAt(
      "user-cannot-read",
      path,
      service.user,
      `cannot enter the environment's path ${environment.path as string}: only root may`,
      `move the environment to /opt, or ${setCommand(pathOf(NAMESPACE, path), "root")}`,
    ),
  ];
}

/** The unit of a repeated probe is `sglang-<service>-probe.service`. */
function unitNameProblems(name: string): Problem[] {
  if (!name.endsWith("-probe")) return [];
  return [
    problemAt(
      "reserved-name",
      ["services", name],
      undefined,
      "ends in -probe, as the units of repeated probes do",
      "rename the service",
    ),
  ];
}

/** CUDA chooses cards by UUID; without one a server would see all cards of the container. */
function visibleGpuProblems(view: View, name: string, service: Service): Problem[] {
  const container = containerOf(view, service);
  const available = container === undefined ? undefined : view.containers?.[container]?.gpus;
  const own = gpusOf(view, service);
  if (available === undefined || available.every((gpu) => gpu !== undefined && own.includes(gpu))) return [];
  return own.flatMap((gpu) =>
    view.gpus?.[gpu]?.pci === undefined
      ? []
      : [
          problemAt(
            "gpu-needs-uuid",
            ["gpus", gpu],
            undefined,
            `is used by the service ${name} without other cards of its container, which takes a UUID`,
            `state uuid instead of pci: \`nvidia-smi -L\` on the host prints it`,
          ),
        ],
  );
}

/** Problems of services that no single value shows. */
export function serviceProblems(view: View, projectDirectory: string): Problem[] {
  return entriesOf(view.services).flatMap(([name, service]) => {
    const lockName =
      service.environment === undefined ? undefined : view.environments?.[service.environment]?.lock;
    return [
      ...nameProblems(view, name, service),
      ...gpuProblems(view, name, service),
      ...modelPathProblems(view, name, service),
      ...releaseProblems(
        name,
        service,
        lockName === undefined ? undefined : readLock(lockName, projectDirectory),
      ),
      ...secretProblems(name, service),
      ...hiddenArgumentProblems(name, service),
      ...speculationProblems(name, service),
      ...userProblems(view, name, service),
      ...unitNameProblems(name),
      ...visibleGpuProblems(view, name, service),
    ];
  });
}
