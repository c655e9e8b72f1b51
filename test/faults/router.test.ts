import type { LabStack } from "../lab/stack/lab-stack";
import type { Keeps } from "./case-name";
import { everyStep } from "./every-step";
import { faults, useFaultLab } from "./fault-case";
import { fillDisk, freeDisk } from "./strikes";

const SAME: Keeps = "the same process goes on";
const AGAIN: Keeps = "it answers again by itself";
const UNITS = "/etc/systemd/system";

const lab = useFaultLab();
beforeAll(() => {
  lab.edit((file) => {
    const { "ml-env": own } = file.environments as Record<string, Record<string, unknown>>;
    Object.assign(file.environments ?? {}, {
      "router-env": { ...own, path: "/opt/router-env", lock: "sglang-router-0.3.2" },
    });
    file.routers = { front: { environment: "router-env", replicas: ["qwen"], startTimeoutMinutes: 1 } };
  });
  lab.deploy();
});

let interval = 15;

/** Declares another interval of the probe and another time to stop in: the router is started anew, its replica is not. */
const changeRouter = (stack: LabStack) => {
  interval += 1;
  stack.edit((file) => {
    Object.assign(file.routers?.front as object, { stopTimeoutSeconds: 100 + interval });
  });
};

const STEP = { machine: "ml", step: "front-service" };

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
  {
    fault: "disk full",
    change: changeRouter,
    strike: (stack) => {
      fillDisk(stack, "pct exec 129 -- bash -c", UNITS);
    },
    mend: (stack) => {
      freeDisk(stack, "pct exec 129 -- bash -c", UNITS);
    },
    says: {
      ...STEP,
      cause: "No space left on device",
      next: `is the disk full? (df -h ${UNITS}). Then run \`up\` again`,
    },
    keeps: SAME,
  },
]);

faults("single", "router", [
  {
    fault: "its replica does not run",
    change: changeRouter,
    strike: (stack) => stack.inContainer("systemctl stop sglang-qwen"),
    mend: (stack) => stack.inContainer("systemctl start sglang-qwen"),
    says: {
      ...STEP,
      cause: "was not found yet; loading phase",
      next: "see the lines above and: journalctl -u sglang-front.service",
    },
    keeps: "not before the next up: somebody stopped it",
  },
]);
