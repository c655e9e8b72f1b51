import type { LabStack } from "../lab/stack/lab-stack";
import { declareRouter } from "../lab/stack/router";
import type { Keeps } from "./case-name";
import { everyStep, unitsDiskFull } from "./every-step";
import { faults, useFaultLab } from "./fault-case";

const SAME: Keeps = "the same process goes on";
const AGAIN: Keeps = "it answers again by itself";

const lab = useFaultLab();
beforeAll(() => {
  declareRouter(lab, { replicas: ["qwen"], startTimeoutMinutes: 1 });
  lab.deploy();
});

let seconds = 115;

/** Declares another time to stop in: the router is started anew, its replica is not. */
const changeRouter = (stack: LabStack) => {
  seconds += 1;
  stack.edit((file) => {
    Object.assign(file.routers?.front as object, { stopTimeoutSeconds: seconds });
  });
};

faults("every step", "router", [
  ...everyStep({
    step: "front-service",
    machine: "ml",
    change: changeRouter,
    atWork: /waiting for sglang-front\.service to pass/,
    keeps: {
      "connection refused before": SAME,
      "connection cut during": SAME,
      "host rebooted during": AGAIN,
      "power lost during": AGAIN,
      "pulumi killed -9 during": SAME,
    },
  }),
  unitsDiskFull("front-service", changeRouter),
]);

faults("single", "router", [
  {
    fault: "its replica does not run",
    change: changeRouter,
    strike: (stack) => stack.inContainer("systemctl stop sglang-qwen"),
    mend: (stack) => stack.inContainer("systemctl start sglang-qwen"),
    says: {
      machine: "ml",
      step: "front-service",
      cause: "was not found yet; loading phase",
      next: "see the lines above and: journalctl -u sglang-front.service",
    },
    keeps: "not before the next up: somebody stopped it",
  },
]);
