import type { LabStack } from "../lab/stack/lab-stack";
import { faults, useFaultLab } from "./fault-case";

useFaultLab();

/** Declares another mount, so that the container's step looks. */
const changeMounts = (lab: LabStack) => {
  lab.edit((file) => {
    Object.assign((file.containers as Record<string, object>)["ml"] as object, {
      mounts: [
        { source: "/srv/models", target: "/models" },
        { source: "/srv/other", target: "/other" },
      ],
    });
  });
};

faults("single", "container", [
  {
    fault: "it was destroyed behind the stack's back",
    change: changeMounts,
    strike: (lab) => lab.onHost("pct stop 129 && pct destroy 129"),
    says: {
      machine: "pve1",
      step: "ml-attach",
      cause: "container 129 does not exist on pve1",
      next: "then `up` builds it anew",
    },
    keeps: "not before the next up: its disk is gone",
    options: ["--refresh"],
    takesContainer: true,
  },
]);
