import type { LabStack } from "../lab/stack/lab-stack";
import { LocalWheelhouse } from "../lab/stack/wheelhouse";
import { everyStep } from "./every-step";
import type { Keeps } from "./case-name";
import { faults, useFaultLab } from "./fault-case";

const SAME: Keeps = "the same process goes on";
const LOCK = "lab-sglang-0.5.11";

const lab = useFaultLab();
const wheelhouse = new LocalWheelhouse(lab);
beforeAll(() => {
  wheelhouse.fetch(LOCK);
  lab.edit((file) => {
    file.wheelhouse = { path: "/srv/wheelhouse" };
  });
  wheelhouse.deploy();
});
afterAll(() => {
  wheelhouse.remove();
});

let version = 0;

/** Declares an environment with one more package, whose import takes long enough to be met in its middle. */
function declareSlow(stack: LabStack): void {
  version += 1;
  const wheel = wheelhouse.wheel("lab_extra", `${version}.0`, {
    "lab_extra.py": "import time\ntime.sleep(8)\n",
  });
  const smokeTest = 'imports = ["lab_extra"]';
  const lock = wheelhouse.environment(`fault-${version}`, { packages: [wheel], smokeTest });
  stack.edit((file) => {
    (file.environments?.["ml-env"] as Record<string, unknown>).lock = lock;
  });
  wheelhouse.push();
}

faults("every step", "environment", [
  ...everyStep({
    step: "ml-env-environment",
    machine: "ml",
    change: declareSlow,
    atWork: /building environment ml-env/,
    keeps: {
      "connection cut during": SAME,
    },
  }),
]);
