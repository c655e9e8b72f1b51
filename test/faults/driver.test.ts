import type { LabStack } from "../lab/stack/lab-stack";
import { everyStep } from "./every-step";
import type { Keeps, Said } from "./case-name";
import { faults, useFaultLab, type FaultCase } from "./fault-case";
import { fillDisk, freeDisk, startServices, stopService } from "./strikes";

const SAME: Keeps = "the same process goes on";
const AGAIN: Keeps = "it answers again by itself";
const BETWEEN: Keeps =
  "not before the next up: between two drivers there is none, and a container's libraries come after the host's";

useFaultLab();

const VERSIONS = ["580.105.08", "590.48.01"] as const;
let version = 0;

/** Another driver, now and then the other way round. */
const changeVersion = (lab: LabStack) => {
  version = 1 - version;
  lab.edit((file) => {
    Object.assign(file.driver ?? {}, { version: VERSIONS[version] });
  });
};

faults("every step", "host's driver", [
  ...everyStep({
    step: "driver-install",
    machine: "pve1",
    change: changeVersion,
    atWork: /building and installing NVIDIA driver/,
    following: "driver-ready",
    keeps: {
      "connection refused before": SAME,
      "connection cut during": BETWEEN,
      "host rebooted during": BETWEEN,
      "power lost during": BETWEEN,
      "pulumi killed -9 during": BETWEEN,
    },
  }),
  {
    fault: "disk full",
    change: changeVersion,
    strike: (lab) => {
      lab.onHost("rm -rf /var/cache/proxmox-gpu-stack/*");
      fillDisk(lab, "bash -c", "/var/cache/proxmox-gpu-stack");
    },
    mend: (lab) => {
      freeDisk(lab, "bash -c", "/var/cache/proxmox-gpu-stack");
    },
    says: said("could not be downloaded", "run `up` again"),
    keeps: SAME,
  },
]);

function said(cause: string, next: string): Said {
  return { machine: "pve1", step: "driver-install", cause, next };
}

const HEADER = "/usr/src/linux-headers-$(uname -r)/include/generated/utsrelease.h";

const singles: FaultCase[] = [
  {
    fault: "the source of packages is gone",
    change: (lab) => {
      lab.edit((file) => {
        Object.assign(file.host ?? {}, { reboot: "never" });
      });
      lab.onHost("dpkg --remove --force-depends make 2>/dev/null && apt-get clean");
    },
    strike: (lab) => {
      stopService(lab, "apt-relay");
    },
    mend: startServices,
    says: {
      machine: "pve1",
      step: "driver-kernel",
      cause: "packages could not be installed: make",
      next: "is the package source reachable from pve1?",
    },
    keeps: SAME,
  },
  {
    fault: "the source of drivers is gone",
    change: (lab) => {
      changeVersion(lab);
      lab.onHost("rm -rf /var/cache/proxmox-gpu-stack/*");
    },
    strike: (lab) => {
      stopService(lab, "file-server");
    },
    mend: startServices,
    says: said("could not be downloaded", "check that this machine reaches the address, then run `up` again"),
    keeps: SAME,
  },
  {
    fault: "the source of drivers gives another file",
    change: (lab) => {
      changeVersion(lab);
      lab.onHost("rm -rf /var/cache/proxmox-gpu-stack/*");
    },
    strike: (lab) => {
      lab.edit((file) => {
        Object.assign((file.driver as { installer: object }).installer, { sha256: "0".repeat(64) });
      });
    },
    mend: (lab) => {
      lab.edit((file) => {
        Object.assign((file.driver as { installer: object }).installer, {
          sha256: `file:${lab.folder}/SHA256SUMS`,
        });
      });
    },
    says: said("the file was thrown away", "compare the declared checksum with the publisher's"),
    keeps: SAME,
  },
  {
    fault: "the modules cannot be built for this kernel",
    change: changeVersion,
    strike: (lab) => lab.onHost(`cp ${HEADER} /root/header && echo '#error made by a test' >>${HEADER}`),
    mend: (lab) => lab.onHost(`cp /root/header ${HEADER}`),
    says: said("could not be installed; before it was", "the logs above name the cause"),
    keeps: BETWEEN,
  },
  {
    fault: "a process on the host holds a card and no reboot is allowed",
    change: (lab) => {
      changeVersion(lab);
      lab.edit((file) => {
        Object.assign(file.host ?? {}, { reboot: "never" });
      });
    },
    strike: (lab) =>
      lab.onHost(
        "systemd-run --quiet --unit=holder python3 -c 'import os, time; os.open(\"/dev/nvidia1\", os.O_PATH); time.sleep(9999)'",
      ),
    mend: (lab) => lab.onHost("systemctl stop holder"),
    says: said(
      "(python3) on the host, and the stack says reboot: never; nothing was changed",
      "stop them, or set host.reboot to allow",
    ),
    keeps: SAME,
  },
];

faults("single", "host's driver", singles);

/** The step that brings the libraries looks again. */
const lookAtUserland = (lab: LabStack) => {
  lab.edit((file) => {
    const driver = file.driver as { replaceExisting?: boolean };
    driver.replaceExisting = driver.replaceExisting !== true;
  });
  lab.inContainer("sh -c 'rm -f /usr/lib/x86_64-linux-gnu/libcuda.so*'");
};

faults("every step", "container's driver libraries", [
  ...everyStep({
    step: "ml-driver-userland",
    machine: "pve1",
    change: lookAtUserland,
    atWork: /installing the driver's libraries/,
    keeps: {
      "connection cut during": SAME,
      "power lost during": "not before the next up: its libraries were being replaced",
      "pulumi killed -9 during": SAME,
    },
  }),
  {
    fault: "disk full",
    change: lookAtUserland,
    strike: (lab) => {
      fillDisk(lab, "pct exec 129 -- bash -c", "/var/tmp");
    },
    mend: (lab) => {
      freeDisk(lab, "pct exec 129 -- bash -c", "/var/tmp");
    },
    says: {
      machine: "pve1",
      step: "ml-driver-userland",
      cause: "did not arrive whole in container 129",
      next: "is its disk full? pct exec 129 -- df -h /var/tmp",
    },
    keeps: SAME,
  },
]);

faults("single", "container's driver libraries", [
  {
    fault: "they are gone, or of another version than the host's module",
    change: lookAtUserland,
    strike: () => undefined,
    says: "nothing: the up goes through",
    keeps: AGAIN,
  },
]);
