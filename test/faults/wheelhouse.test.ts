import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { LabStack } from "../lab/stack/lab-stack";
import { LocalWheelhouse } from "../lab/stack/wheelhouse";
import type { Keeps, Said } from "./case-name";
import { everyStep } from "./every-step";
import { faults, useFaultLab } from "./fault-case";
import { signalService, startServices, stopService } from "./strikes";

const SAME: Keeps = "the same process goes on";
const AGAIN: Keeps = "it answers again by itself";
const LOCK = "lab-sglang-0.5.11";
const FOLDER = "/srv/wheelhouse";

const lab = useFaultLab();
const wheelhouse = new LocalWheelhouse(lab);
const published = () => join(lab.folder, "run/www/wheelhouse/files");
const publish = () => cpSync(join(wheelhouse.folder, "files"), published(), { recursive: true });

beforeAll(() => {
  wheelhouse.fetch(LOCK);
  publish();
  lab.edit((file) => {
    file.wheelhouse = { path: FOLDER, mirror: `http://${lab.subnet}.1:8080/wheelhouse` };
  });
  lab.deploy();
});
afterAll(() => {
  wheelhouse.remove();
});

let version = 0;
let newest = "";

/** Declares an environment with one more file, which only the mirror has. */
function declare(stack: LabStack): void {
  version += 1;
  const wheel = wheelhouse.wheel("lab_extra", `${version}.0`, { "lab_extra.py": "" });
  newest = join(published(), wheel.sha256, wheel.name);
  const lock = wheelhouse.environment(`wheelhouse-fault-${version}`, { packages: [wheel] });
  stack.edit((file) => {
    (file.environments?.["ml-env"] as Record<string, unknown>).lock = lock;
  });
  publish();
}

faults("every step", "wheelhouse", [
  ...everyStep({
    step: "wheelhouse-files",
    machine: "pve1",
    change: (stack) => {
      declare(stack);
      signalService(stack, "file-server", "SIGSTOP");
    },
    atWork: /wheelhouse lacks lab_extra[^]*at work on pve1/,
    mend: (stack) => {
      signalService(stack, "file-server", "SIGCONT");
    },
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
    change: declare,
    strike: (stack) => {
      stack.onHost(`mount -t tmpfs -o size=200k tmpfs ${FOLDER}`);
    },
    mend: (stack) => {
      stack.onHost(`umount ${FOLDER}`);
    },
    says: said(`${FOLDER} has 0 MiB free`, "make room there, or give wheelhouse.path another place"),
    keeps: SAME,
  },
]);

function said(cause: string, next: string): Said {
  return { machine: "pve1", step: "wheelhouse-files", cause, next };
}

faults("single", "wheelhouse", [
  {
    fault: "its mirror is gone",
    change: declare,
    strike: (stack) => {
      stopService(stack, "file-server");
    },
    mend: (stack) => {
      startServices(stack);
      // The lab fills its folder anew.
      publish();
    },
    says: said("could not be downloaded", "check that this machine reaches the address, then run `up` again"),
    keeps: SAME,
  },
  {
    fault: "its mirror gives another file",
    change: declare,
    strike: () => {
      writeFileSync(newest, "another file");
    },
    mend: publish,
    says: said("the file was thrown away", "compare the declared checksum with the publisher's"),
    keeps: SAME,
  },
]);
