import type { LabStack } from "../lab/stack/lab-stack";
import { LocalWheelhouse } from "../lab/stack/wheelhouse";
import { everyStep } from "./every-step";
import type { Keeps, Said } from "./case-name";
import { faults, useFaultLab } from "./fault-case";
import { startServices, stopService } from "./strikes";

const SAME: Keeps = "the same process goes on";
const OLD: Keeps = "the old version answers again by itself";
const LOCK = "lab-sglang-0.5.11";
const UV_CACHE = "/var/cache/proxmox-gpu-stack/uv";

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

/** Declares an environment with one more package of these modules, and brings its files to the host. */
function declare(
  stack: LabStack,
  modules: Readonly<Record<string, string>>,
  { smokeTest = "", push = true }: { smokeTest?: string; push?: boolean } = {},
): string {
  version += 1;
  const wheel = wheelhouse.wheel("lab_extra", `${version}.0`, modules);
  const lock = wheelhouse.environment(`fault-${version}`, { packages: [wheel], smokeTest });
  stack.edit((file) => {
    (file.environments?.["ml-env"] as Record<string, unknown>).lock = lock;
  });
  if (push) wheelhouse.push();
  return `lab_extra-${version}.0-py3-none-any.whl`;
}

/** Its import takes long enough to be met in its middle. */
const slow = (stack: LabStack) =>
  declare(
    stack,
    { "lab_extra.py": "import time\ntime.sleep(8)\n" },
    { smokeTest: 'imports = ["lab_extra"]' },
  );

faults("every step", "environment", [
  ...everyStep({
    step: "ml-env-environment",
    preceding: "wheelhouse-files",
    machine: "ml",
    change: slow,
    atWork: /building environment ml-env/,
    following: "qwen-service",
    keeps: {
      "connection refused before": SAME,
      "connection cut during": SAME,
      "connection refused after": SAME,
      "host rebooted during": OLD,
      "power lost during": OLD,
      "pulumi killed -9 during": SAME,
    },
  }),
  {
    fault: "disk full",
    change: (stack) => declare(stack, { "lab_extra.py": `"""${"0123456789abcdef".repeat(5000)}"""\n` }),
    strike: (stack) => {
      stack.inContainer(`mount -t tmpfs -o size=200k tmpfs ${UV_CACHE}`);
    },
    mend: (stack) => {
      stack.inContainer(`umount ${UV_CACHE}`);
    },
    says: { machine: "ml", step: "ml-env-environment", cause: "the disk is full", next: "rootDisk.sizeGiB" },
    keeps: SAME,
  },
]);

const said = (cause: string, next: string): Said => ({
  machine: "ml",
  step: "ml-env-environment",
  cause,
  next,
});

/** A file of the wheelhouse on the host, changed by a command in which it is `$f`. */
const onFile = (stack: LabStack, file: string, command: string) =>
  stack.onHost(`f=$(ls /srv/wheelhouse/files/*/${file}); ${command}`);

const DAMAGE = "chmod 644 $f; printf x | dd of=$f bs=1 seek=60 conv=notrunc status=none";

let file = "";
const good = (stack: LabStack) => {
  file = declare(stack, { "lab_extra.py": "" });
};

faults("single", "environment", [
  {
    fault: "a wheel is not in the wheelhouse",
    change: (stack) => declare(stack, { "lab_extra.py": "" }, { push: false }),
    strike: () => undefined,
    mend: () => wheelhouse.push(),
    says: {
      machine: "pve1",
      step: "wheelhouse-files",
      cause: "lacks lab_extra",
      next: "./stack wheelhouse push STACK",
    },
    keeps: SAME,
  },
  {
    fault: "a wheel in the wheelhouse is damaged",
    change: good,
    strike: (stack) => onFile(stack, file, DAMAGE),
    mend: () => wheelhouse.push(),
    says: {
      machine: "pve1",
      step: "wheelhouse-files",
      cause: "damaged, so of no use: lab_extra",
      next: "./stack wheelhouse push STACK",
    },
    keeps: SAME,
  },
  {
    fault: "a wheel is damaged after it was verified",
    change: good,
    strike: (stack) => {
      stack.pulumi("up", "--yes", "--skip-preview", "--target", "**wheelhouse-files");
      onFile(stack, file, `touch -r $f /tmp/time; ${DAMAGE}; touch -r /tmp/time $f`);
    },
    mend: (stack) => {
      onFile(stack, file, "rm $f");
      wheelhouse.push();
    },
    says: said("damaged in the wheelhouse: ", "./stack wheelhouse push STACK"),
    keeps: SAME,
  },
  {
    fault: "a package of the lock cannot be imported",
    change: (stack) => {
      declare(
        stack,
        {
          "lab_extra.py":
            "import os\nif os.path.exists('/root/broken'):\n    raise ImportError('undefined symbol: _ZN3c10')\n",
        },
        { smokeTest: 'imports = ["lab_extra"]' },
      );
    },
    strike: (stack) => stack.inContainer("touch /root/broken"),
    mend: (stack) => stack.inContainer("rm /root/broken"),
    says: said(
      "smoke test failed: import lab_extra: ImportError: undefined symbol",
      "the environment in use stays",
    ),
    keeps: SAME,
  },
  {
    fault: "the package index is gone, there is a wheelhouse",
    change: good,
    strike: (stack) => {
      stopService(stack, "package-index");
    },
    mend: startServices,
    says: "nothing: the up goes through",
    keeps: "it answers again by itself",
  },
  {
    fault: "files of the running environment were written to by hand",
    change: good,
    strike: (stack) =>
      stack.inContainer(
        "sh -c 'echo \"# edited\" >> $(readlink -f /opt/ml-env)/lib/python3.11/site-packages/sglang/__init__.py'",
      ),
    says: "nothing: the up goes through",
    keeps: "it answers again by itself",
  },
]);
