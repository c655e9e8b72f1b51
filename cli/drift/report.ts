/** What the looks at a host say about a stack; no machine is asked here. */
import type { Look } from "../../plan/drift/check-script";
import type { ContainerPlan } from "../../plan/container-steps";
import { allSteps, type StackPlan } from "../../plan/stack";
import type { Step } from "../../plan/step";
import { settingDrifts } from "./container-settings";

/** One thing that is not as declared. */
export interface DriftRow {
  /** `host pve1` or `container ml (129)`. */
  readonly where: string;
  /** Name of the resource: a step, or `<container>-container` for what the API keeps. */
  readonly step: string;
  readonly declared: string;
  readonly found: string;
  /** What `--repair` does about it, or what a person must do. */
  readonly repair: string;
  readonly repairable: boolean;
}

/** Steps that could not be looked at. */
export interface Unchecked {
  readonly where: string;
  readonly steps: readonly string[];
  readonly reason: string;
}

export interface DriftReport {
  readonly checked: number;
  readonly rows: readonly DriftRow[];
  readonly unchecked: readonly Unchecked[];
}

/** What else happens when a step is applied again. */
const CONSEQUENCES: Readonly<Record<string, string>> = {
  "host/kernel": "; the host is rebooted if nouveau holds the cards",
  "host/driver-install": "; what uses the cards is stopped meanwhile, the host rebooted if it must be",
  "host/container-attach": "; the container is restarted",
  "container/service": "; the server is restarted if it runs with something else",
};

const containerPlace = ({ name, settings }: ContainerPlan) => `container ${name} (${settings.vmId})`;

/** Where a step's work shows: steps that the host does to a container belong to the container. */
function places(node: string, plan: StackPlan): (step: Step) => string {
  const ofContainer = new Map(
    plan.containers.flatMap((container) =>
      [container.claim, container.attach, container.userland, container.cuda].map((step) => [
        step?.name,
        containerPlace(container),
      ]),
    ),
  );
  const byId = new Map(
    plan.containers.map((container) => [container.settings.vmId, containerPlace(container)]),
  );
  return ({ name, target }) =>
    ofContainer.get(name) ??
    (target.kind === "container" ? byId.get(target.vmId) : undefined) ??
    `host ${node}`;
}

/** The JSON object of a step that ended well. */
function resultOf({ status, output }: Look): Record<string, unknown> | undefined {
  const last = output.split("\n").at(-1) ?? "";
  if (status !== 0 || !last.startsWith("{")) return undefined;
  return JSON.parse(last) as Record<string, unknown>;
}

/** The cause and the way on that a failed step names, or its last line. */
function failureOf({ output, status }: Look): { cause: string; next: string } {
  const cause = /^ {2}cause: (.*)$/m.exec(output)?.[1];
  const next = /^ {2}next: {2}(.*)$/m.exec(output)?.[1];
  return {
    cause: cause ?? output.split("\n").at(-1)?.trim() ?? `it ended with ${status}`,
    next: next ?? "see the message beside",
  };
}

/** What the attach step says of settings that are compared one by one here. */
const OF_THE_API = /Proxmox VE has not taken that change$/;

function stepRows(step: Step, where: string, look: Look): DriftRow[] {
  const result = resultOf(look);
  if (result === undefined) {
    const { cause, next } = failureOf(look);
    return [
      { where, step: step.name, declared: step.summary, found: cause, repair: next, repairable: false },
    ];
  }
  const differences = Array.isArray(result["differences"]) ? result["differences"].map(String) : [];
  return differences
    .filter((difference) => !OF_THE_API.test(difference))
    .map((found) => ({
      where,
      step: step.name,
      declared: step.summary,
      found,
      repair: `runs ${step.name} again${CONSEQUENCES[step.script] ?? ""}`,
      repairable: true,
    }));
}

/** The resource that the API keeps. */
export const containerResource = ({ name }: ContainerPlan) => `${name}-container`;

function missingRow(container: ContainerPlan): DriftRow {
  return {
    where: containerPlace(container),
    step: containerResource(container),
    declared: `container ${container.settings.vmId}`,
    found: "there is no such container",
    repair: "`pulumi up --refresh` makes a new one from the template; data that was only in it is lost",
    repairable: false,
  };
}

function settingRows(container: ContainerPlan, look: Look): DriftRow[] {
  if (look.status !== 0) return [missingRow(container)];
  return settingDrifts(container, look.output).map(({ setting, declared, found, repairable, fix }) => ({
    where: containerPlace(container),
    step: containerResource(container),
    declared: `${setting}: ${declared}`,
    found: `${setting}: ${found}`,
    repair: fix ?? "sets it again through the API; the container may be restarted",
    repairable,
  }));
}

/** Why nothing was heard of a container's own steps. */
function silence(look: Look | undefined): string {
  if (look === undefined) return "the connection ended before";
  if (look.status === 124 || look.status === 137) return "it does not answer";
  return look.output.split("\n").at(-1)?.trim() || `pct exec ended with ${look.status}`;
}

/** Holds what was seen against the plan; rows in the order of the stack's steps. */
export function driftReport(node: string, plan: StackPlan, looks: readonly Look[]): DriftReport {
  const place = places(node, plan);
  const find = (kind: Look["kind"], name: string) =>
    looks.find((look) => look.kind === kind && look.name === name);
  const configuration = (container: ContainerPlan) => find("configuration", String(container.settings.vmId));
  const missing = plan.containers.filter((container) => (configuration(container)?.status ?? 0) !== 0);
  const closed = plan.containers.filter(
    (container) => (find("container", String(container.settings.vmId))?.status ?? 0) !== 0,
  );
  // Steps of the host that must see or enter the container: they can only repeat what is said of it already.
  const pointless = new Map<string | undefined, string>([
    ...closed.map(({ userland, settings }): [string | undefined, string] => [
      userland?.name,
      silence(find("container", String(settings.vmId))),
    ]),
    ...missing.flatMap(({ attach, userland }): [string | undefined, string][] => [
      [attach.name, "there is no such container"],
      [userland?.name, "there is no such container"],
    ]),
  ]);
  const rows: DriftRow[] = [];
  const silent = new Map<string, { steps: string[]; reason: string }>();
  let checked = 0;

  for (const container of plan.containers) {
    const look = configuration(container);
    if (look !== undefined) rows.push(...settingRows(container, look));
  }
  for (const step of allSteps(plan)) {
    const look = find("step", step.name);
    const where = place(step);
    if (look !== undefined && !pointless.has(step.name)) {
      checked += 1;
      rows.push(...stepRows(step, where, look));
      continue;
    }
    const inside = step.target.kind === "container" ? String(step.target.vmId) : undefined;
    const reason =
      pointless.get(step.name) ?? silence(inside === undefined ? undefined : find("container", inside));
    const entry = silent.get(where) ?? { steps: [], reason };
    entry.steps.push(step.name);
    silent.set(where, entry);
  }
  const order = new Map(allSteps(plan).map(({ name }, index) => [name, index]));
  // What the API keeps of a container comes right before the container is attached.
  for (const container of plan.containers)
    order.set(containerResource(container), (order.get(container.attach.name) ?? 0) - 0.5);
  return {
    checked,
    rows: rows.sort((a, b) => (order.get(a.step) ?? 0) - (order.get(b.step) ?? 0)),
    unchecked: [...silent].map(([where, entry]) => ({ where, ...entry })),
  };
}
