/** `./stack drift --repair`: exactly what differs is applied again, by the engine. docs/decisions/0007. */
import type { StackConfig } from "../../config/schema";
import { stepCommand } from "../../plan/script";
import { allSteps, type StackPlan } from "../../plan/stack";
import { pulumi, PulumiError } from "../pulumi";
import type { DriftReport } from "./report";
import { containerResource } from "./report";
import { deployedLine, markSteps, nameOf, stepResource, type StateFile } from "./state-mark";

/** Nothing was, or could be, repaired; the message says why and what to do. */
export class RepairError extends Error {}

export interface RepairInput {
  readonly file: string;
  readonly config: StackConfig;
  readonly plan: StackPlan;
  readonly first: DriftReport;
  /** Stops a container on the host. */
  readonly stop: (vmId: number) => Promise<void>;
  /** Gives files on the host a new time. */
  readonly touch: (paths: readonly string[]) => Promise<void>;
  /** Looks again. */
  readonly look: () => Promise<DriftReport>;
}

/** One repair can uncover the next: a container that was stopped, a driver that was not there. */
const ROUNDS = 4;
const PAUSE_MS = 5000;

const say = (text: string): void => {
  process.stderr.write(text);
};

const readState = async (file: string): Promise<StateFile> =>
  JSON.parse(await pulumi(file, ["stack", "export"])) as StateFile;

/** What one round applies. */
interface Targets {
  readonly steps: readonly string[];
  readonly containers: readonly string[];
}

/** What can be applied again; undefined when nothing can. */
function targetsOf({ rows }: DriftReport, plan: StackPlan): Targets | undefined {
  const wanted = new Set(rows.filter(({ repairable }) => repairable).map(({ step }) => step));
  if (wanted.size === 0) return undefined;
  return {
    steps: allSteps(plan).flatMap(({ name }) => (wanted.has(name) ? [name] : [])),
    containers: plan.containers.map(containerResource).filter((name) => wanted.has(name)),
  };
}

/**
 * Model files whose damage only their hash shows: a step that is applied believes size and time. With a new time they are
 * read again, and fetched.
 */
function damagedFiles({ rows }: DriftReport, plan: StackPlan): string[] {
  const folders = new Map(plan.models.map(({ step }) => [step.name, step.args["path"]]));
  return rows.flatMap(({ step, found }) => {
    const file = /^(.+): damaged: /.exec(found)?.[1];
    const folder = folders.get(step);
    return file === undefined || folder === undefined ? [] : [`${folder}/${file}`];
  });
}

/** Steps that were never run, or were last run as something else: applying them would deploy a change nobody has seen. */
function refuseUndeployed(state: StateFile, steps: readonly string[], plan: StackPlan): void {
  const declared = new Map(allSteps(plan).map((step) => [step.name, stepCommand(step)]));
  const missing = steps.filter((name) => stepResource(state, name) === undefined);
  const changed = steps.filter((name) => {
    const resource = stepResource(state, name);
    return resource !== undefined && deployedLine(resource) !== declared.get(name);
  });
  if (missing.length + changed.length === 0) return;
  const reasons = [
    ...(missing.length > 0 ? [`never deployed: ${missing.join(", ")}`] : []),
    ...(changed.length > 0 ? [`changed since the last \`up\`: ${changed.join(", ")}`] : []),
  ];
  throw new RepairError(
    `nothing was repaired: ${reasons.join("; ")}\n  fix: this is no drift but a change that is not deployed; look at it with \`pulumi preview\`, then run \`pulumi up\``,
  );
}

/** Writes the mark; a state that somebody changed meanwhile is not overwritten. */
async function mark(file: string, state: StateFile, urns: ReadonlySet<string>): Promise<void> {
  if (urns.size === 0) return;
  const now = await readState(file);
  if (now.deployment.manifest?.time !== state.deployment.manifest?.time)
    throw new RepairError(
      "nothing was repaired: somebody else is changing this stack\n  fix: wait for it, then run the same command again",
    );
  await pulumi(file, ["stack", "import"], { input: JSON.stringify(markSteps(state, urns, new Date())) });
}

async function applyAgain(
  input: RepairInput,
  { steps, containers }: Targets,
  report: DriftReport,
): Promise<void> {
  const { file, plan } = input;
  const state = await readState(file);
  refuseUndeployed(state, steps, plan);
  const damaged = damagedFiles(report, plan);
  if (damaged.length > 0) await input.touch(damaged);
  for (const container of plan.containers) {
    if (!containers.includes(containerResource(container)) || !steps.includes(container.attach.name))
      continue;
    // The provider restarts a running container after its change, and without its cards no container starts. The attach
    // step, which gives it the cards, starts it.
    say(`stopping container ${container.settings.vmId}: its settings and its devices are applied again\n`);
    await input.stop(container.settings.vmId);
  }
  const ofContainers = (state.deployment.resources ?? []).filter(
    (resource) => containers.includes(nameOf(resource)) && resource.type.startsWith("proxmoxve:"),
  );
  const urns = steps.map((name) => stepResource(state, name)?.urn ?? "");
  await mark(file, state, new Set(urns));
  const targets = [...urns, ...ofContainers.map(({ urn }) => urn)];
  await pulumi(
    file,
    [
      "up",
      "--yes",
      "--skip-preview",
      "--suppress-outputs",
      "--config-file",
      file,
      // Only what is read anew is seen as changed; steps have nothing to read.
      ...(ofContainers.length > 0 ? ["--refresh"] : []),
      ...targets.flatMap((urn) => ["--target", urn]),
    ],
    { show: say },
  );
}

/** Services that only need time: a container's restart starts them too. */
const starting = ({ rows }: DriftReport): boolean =>
  rows.length > 0 && rows.every(({ found }) => / is activating$/.test(found));

/** Looks again; waits for services that are starting, as long as the stack gives them. */
async function settled({ config, look }: RepairInput): Promise<DriftReport> {
  const minutes = Math.max(
    0,
    ...[...Object.values(config.services), ...Object.values(config.routers)].map(
      ({ startTimeoutMinutes }) => startTimeoutMinutes,
    ),
  );
  const until = Date.now() + minutes * 60_000;
  for (;;) {
    const report = await look();
    if (!starting(report) || Date.now() > until) return report;
    say("waiting for services that are starting\n");
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const keyOf = ({ steps, containers }: Targets) => [...steps, ...containers].join();

/**
 * Applies again what differs, looks, and goes on while that uncovers something else.
 *
 * @returns names of the resources that were applied again
 * @throws RepairError when the drift is a change that was never deployed, or Pulumi fails
 */
export async function repair(input: RepairInput): Promise<string[]> {
  const done: string[] = [];
  let report = input.first;
  let targets = targetsOf(report, input.plan);
  let before = "";
  try {
    for (let round = 0; round < ROUNDS && targets !== undefined && keyOf(targets) !== before; round++) {
      say(`applying again: ${keyOf(targets).replaceAll(",", ", ")}\n`);
      await applyAgain(input, targets, report);
      done.push(...targets.steps, ...targets.containers);
      before = keyOf(targets);
      report = await settled(input);
      targets = targetsOf(report, input.plan);
    }
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    throw new RepairError(`${error.message}\n  fix: see the lines above, then run the same command again`);
  }
  return [...new Set(done)];
}
