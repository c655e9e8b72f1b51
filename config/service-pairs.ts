/** Checks of two services of one container against each other. */
import { pathOf, setCommand, type Problem } from "./problems";
import { entriesOf, problemAt, type View } from "./references";
import { NAMESPACE } from "./schema";
import { containerOf, gpusOf } from "./service-references";

/** Starting one of two that conflict stops the other: an `up` would end with either, as it happens. */
function bothEnabled(name: string, other: string): Problem {
  const where = ["services", name, "enabled"];
  return problemAt(
    "both-enabled",
    where,
    "true",
    `conflicts with the service ${other} of the same container, which is enabled too: starting one stops the other`,
    `enable one of them: ${setCommand(pathOf(NAMESPACE, where), "false")}`,
  );
}

/** A stack's own units are told apart by `enabled` and `conflictsWith`; their files are the stack's to write. */
function replacedProblems(view: View, name: string, replaces: string | undefined): Problem[] {
  const owner = entriesOf(view.services).find(([other]) => `sglang-${other}.service` === replaces);
  if (replaces === undefined || owner === undefined) return [];
  const message =
    owner[0] === name
      ? "is this service's own unit: its file would be overwritten, and nothing could be put back"
      : `is the unit of the service ${owner[0]} of this stack`;
  const fix =
    owner[0] === name
      ? `give this service another name, so that its unit has another one`
      : `take the key out; ${NAMESPACE}:services.${name}.conflictsWith names services of the stack`;
  return [problemAt("replaces-own-unit", ["services", name, "replaces"], replaces, message, fix)];
}

/** Two services of one container may share cards or a port only when one ends the other; then one of them runs. */
export function pairProblems(view: View): Problem[] {
  const problems: Problem[] = [];
  const services = entriesOf(view.services);
  for (const [index, [name, service]] of services.entries()) {
    problems.push(...replacedProblems(view, name, service.replaces));
    for (const [other, otherService] of services.slice(0, index)) {
      const container = containerOf(view, service);
      if (container === undefined || container !== containerOf(view, otherService)) continue;
      if (
        service.conflictsWith?.includes(other) === true ||
        otherService.conflictsWith?.includes(name) === true
      ) {
        if (service.enabled !== false && otherService.enabled !== false)
          problems.push(bothEnabled(name, other));
        continue;
      }
      if (service.port !== undefined && service.port === otherService.port)
        problems.push(
          problemAt(
            "duplicate-port",
            ["services", name, "port"],
            String(service.port),
            `is the port of the service ${other} in the same container too`,
            setCommand(pathOf(NAMESPACE, ["services", name, "port"]), String(service.port + 1)),
          ),
        );
      const cards = gpusOf(view, otherService);
      const common = gpusOf(view, service).filter((gpu) => cards.includes(gpu));
      if (common.length > 0)
        problems.push(
          problemAt(
            "gpu-conflict",
            ["services", name, "gpus"],
            common.join(", "),
            `the service ${other} uses the same cards`,
            `give each its own cards, or let one stop the other: ${setCommand(pathOf(NAMESPACE, ["services", name, "conflictsWith[0]"]), other)}`,
          ),
        );
    }
  }
  return problems;
}
