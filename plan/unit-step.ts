import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { urlOf } from "../config/addresses";
import type { ContainerConfig, ResolvedService } from "../config/schema";
import type { EnvironmentPlan } from "./environment-steps";
import { SCRIPTS, shortDigest } from "./script";
import { inContainer, step, type Step } from "./step";
import { LIBRARY, servicePaths } from "./unit/paths";

/** What runs as `sglang-<name>.service`, a server or a router, and the step that brings it to run. */
export interface UnitPlan {
  readonly name: string;
  readonly service: Pick<
    ResolvedService,
    | "name"
    | "unit"
    | "container"
    | "environment"
    | "enabled"
    | "listen"
    | "port"
    | "user"
    | "startTimeoutMinutes"
    | "stopTimeoutSeconds"
    | "probeIntervalMinutes"
  >;
  /** Where clients reach it when it is enabled. */
  readonly url: string;
  /** Repeats the gate's semantic probe by hand, on the host. */
  readonly probeCommand: string;
  readonly step: Step;
}

/** The probe package, file by file, under its path in the container. */
function probePackage(): Record<string, string> {
  const folder = join(SCRIPTS, "probe", "sglang_probe");
  return Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".py"))
      .sort()
      .map((file) => [`${LIBRARY}/sglang_probe/${file}`, readFileSync(join(folder, file), "utf8")]),
  );
}

export interface UnitStepInput {
  readonly service: UnitPlan["service"];
  readonly container: ContainerConfig;
  readonly environment: EnvironmentPlan;
  /** Its own files by their path in the container. */
  readonly files: Readonly<Record<string, string>>;
  /** What preflight, gate and repeated probe compare it with: the text of the specification. */
  readonly specification: string;
  /** Digest of all that it is started with: when it changes, it restarts. */
  readonly restart: string;
  /** What it is started with, so that a preview shows what changed. */
  readonly arguments: readonly string[];
  /** Hand-made unit that it takes the place of. */
  readonly replaces?: string | undefined;
  /** What its gate asks for, in words. */
  readonly gate: string;
}

/** The plan of one unit: a server's or a router's. */
export function planUnit(input: UnitStepInput): Omit<UnitPlan, "service"> {
  const { service, container, environment, specification, restart } = input;
  const paths = servicePaths(service.name);
  const python = `${environment.path}/bin/python3`;
  return {
    name: service.name,
    url: urlOf(service, container.network.address),
    probeCommand: `pct exec ${container.vmId} --keep-env 0 -- env PYTHONPATH=${LIBRARY} ${python} -m sglang_probe gate --spec ${paths.specification}`,
    step: step({
      name: `${service.name}-service`,
      target: inContainer(container.vmId),
      script: "container/service",
      args: {
        name: service.name,
        unit: service.unit,
        python,
        environment: environment.path,
        target: environment.target,
        restart,
        gate: shortDigest(restart, specification),
        spec: paths.specification,
        user: service.user,
        home: paths.home,
        enabled: String(service.enabled),
        ...(input.replaces === undefined ? {} : { replaces: input.replaces }),
        arguments: input.arguments.join(" "),
      },
      texts: { ...input.files, [paths.specification]: specification, ...probePackage() },
      secrets: ["serviceApiKey"],
      timeoutMinutes: service.startTimeoutMinutes * 2 + 20,
      removable: true,
      summary: service.enabled
        ? `${service.unit}: started, held to its health gate${input.gate}, rolled back when it fails`
        : `${service.unit}: installed, neither started nor enabled`,
    }),
  };
}
