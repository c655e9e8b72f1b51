/** Which Python environments could serve on a card. */
import { gpuByName } from "../../catalog";
import { lockNames, readLock } from "../../config/lock";
import { readWheelRecipes } from "../../config/wheels";

/** Whether binaries for some architectures (`sm_80`, `sm_120a`) run on a card: within a major version, and not older than their code. */
export function runsOn(architectures: readonly string[], model: string): boolean {
  const [major, minor] = gpuByName(model)?.computeCapability ?? [0, 0];
  return architectures.some((name) => {
    const match = /^sm_(\d+)(\d)([af]?)$/.exec(name);
    if (match === null || Number(match[1]) !== major) return false;
    return match[3] === "a" ? Number(match[2]) === minor : Number(match[2]) <= minor;
  });
}

/**
 * Why an environment cannot run on a card; undefined: nothing says so. Only wheels that are built from source tell for
 * which cards they hold code: published ones hold it for all that their release supports.
 */
export function lockProblem(lock: string, gpu: string, projectDirectory: string): string | undefined {
  const lacking = readWheelRecipes(lock, projectDirectory).recipes.find(
    ({ architectures }) => architectures.length > 0 && !runsOn(architectures, gpu),
  );
  return lacking === undefined
    ? undefined
    : `environments/${lock} builds ${lacking.package} for ${lacking.architectures.join(", ")}, which does not run on ${gpu}`;
}

/**
 * Environments to try, in this order: the service's own; those whose release is known to have served the model; those that
 * the target has already; every other with a lock that holds SGLang. The lab's hold stand-ins: they are no choice for others.
 *
 * @param proven releases that are known to have served the model well
 */
export function lockCandidates(
  own: string,
  present: readonly string[],
  proven: readonly string[],
  projectDirectory: string,
): string[] {
  const isLab = (name: string): boolean => /(^|-)lab(-|$)/.test(name);
  const release = (name: string): string | undefined => readLock(name, projectDirectory).release;
  const others = [...present, ...lockNames(projectDirectory)].filter(
    (name) => release(name) !== undefined && isLab(name) === isLab(own),
  );
  const isProven = (name: string): boolean => proven.includes(release(name) ?? "");
  return [...new Set([own, ...others.filter(isProven), ...others])];
}
