import { pathOf, type Problem } from "./problems";
import type { View } from "./references";
import { NAMESPACE } from "./schema";

/** A retired stack previews; an `up` of it would make everything anew, on a host that may be somebody else's by now. */
export function retirementProblems(view: View): Problem[] {
  if (view.retired === undefined) return [];
  return [
    {
      id: "retired",
      severity: "info",
      blocksUp: true,
      path: pathOf(NAMESPACE, ["retired"]),
      value: view.retired,
      message: "the stack was taken out of service: a preview is possible, `up` is refused",
      fix: `take the key out to bring the stack back: pulumi config rm ${NAMESPACE}:retired`,
    },
  ];
}
