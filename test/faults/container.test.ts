import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { LabStack } from "../lab/stack/lab-stack";
import { everyStep, LOCKED } from "./every-step";
import type { Keeps, Said } from "./case-name";
import { faults, useFaultLab, type FaultCase } from "./fault-case";
import { changeService } from "./fault-lab";
import { api, reboot } from "./strikes";

const SAME: Keeps = "the same process goes on";
const AGAIN: Keeps = "it answers again by itself";

useFaultLab();

type Entry = Record<string, unknown>;
const ml = (lab: LabStack, change: (container: Entry) => void) => {
  lab.edit((file) => {
    change((file.containers as Record<string, Entry>).ml as Entry);
  });
};

let mounts = 0;
/** Declares another mount: the container is stopped, changed and started. */
const changeMounts = (lab: LabStack) => {
  mounts += 1;
  ml(lab, (container) => {
    container.mounts = [
      { source: "/srv/models", target: "/models" },
      { source: `/srv/extra-${mounts}`, target: "/extra" },
    ];
  });
};

faults("every step", "container's devices and mounts", [
  ...everyStep({
    step: "ml-attach",
    machine: "pve1",
    change: changeMounts,
    atWork: /stopping container 129/,
    keeps: {
      "connection refused before": SAME,
      "connection cut during": AGAIN,
      "host rebooted during": AGAIN,
      "power lost during": AGAIN,
      "pulumi killed -9 during": AGAIN,
    },
  }),
]);

const attach = (cause: string, next: string): Said => ({ machine: "pve1", step: "ml-attach", cause, next });

faults("single", "container", [
  {
    fault: "somebody destroyed the container",
    change: changeMounts,
    strike: (lab) => lab.onHost("pct stop 129 && pct destroy 129"),
    says: attach("container 129 does not exist on pve1", "`pulumi up --refresh` makes it anew and fills it"),
    keeps: "not before the next up: its disk is gone",
    options: ["--refresh"],
    takesContainer: true,
  },
  {
    fault: "Proxmox VE holds the container for a backup, which ends",
    change: (lab) => {
      changeMounts(lab);
      lab.onHost("echo 'lock: backup' >>/etc/pve/lxc/129.conf");
    },
    moment: /container 129 is held by another task \(backup\): waiting for its end/,
    strike: (lab) => {
      lab.onHost("sed -i '/^lock: /d' /etc/pve/lxc/129.conf");
    },
    says: "nothing: the up goes through",
    keeps: AGAIN,
  },
  {
    fault: "somebody passes cards to it by raw lines",
    change: changeMounts,
    strike: (lab) => lab.onHost("echo 'lxc.cgroup2.devices.allow: c 195:* rwm' >>/etc/pve/lxc/129.conf"),
    mend: (lab) => lab.onHost("sed -i '/^lxc\\./d' /etc/pve/lxc/129.conf"),
    says: attach("passes NVIDIA devices by raw lines too", "delete these lines from /etc/pve/lxc/129.conf"),
    keeps: SAME,
  },
  {
    fault: "it was stopped behind the stack's back, and its settings change",
    change: changeMounts,
    strike: (lab) => lab.onHost("pct stop 129"),
    says: "nothing: the up goes through",
    keeps: AGAIN,
  },
  {
    fault: "it was stopped behind the stack's back, and a service in it changes",
    change: changeService,
    strike: (lab) => lab.onHost("pct stop 129"),
    says: { machine: "pct exec 129", step: "qwen-service", cause: "container '129' not running!" },
    keeps: "not before the next up: somebody stopped it",
    before: (lab) => lab.onHost("pct start 129"),
  },
  {
    fault: "a card is gone after a reboot",
    change: changeMounts,
    strike: (lab) => {
      lab.lab("inventory", "pve1", "1x-a6000");
      // The lab tells that the unit which looks for cards has failed.
      lab.tryLab("reboot", "pve1");
    },
    mend: (lab) => {
      lab.lab("inventory", "pve1", "2x-a6000");
      reboot(lab);
    },
    says: attach("container 129 cannot get its GPUs", "see the line above"),
    keeps: "not before the next up: a server on fewer cards than declared is not started",
  },
  {
    fault: "its cards have other minor numbers after a reboot",
    change: changeMounts,
    strike: (lab) => {
      lab.lab("inventory", "pve1", "2x-a6000-swapped-minors");
      reboot(lab);
      lab.untilHealthy();
    },
    mend: (lab) => {
      lab.lab("inventory", "pve1", "2x-a6000");
      reboot(lab);
      lab.untilHealthy();
    },
    says: "nothing: the up goes through",
    keeps: AGAIN,
  },
]);

let memory = 4;
const changeMemory = (lab: LabStack) => {
  memory = memory === 4 ? 5 : 4;
  ml(lab, (container) => {
    container.memoryGiB = memory;
  });
};

/** A change of the container's settings, which the API does not take. */
function refusedBy(fault: string, rules: readonly object[], cause: string): FaultCase {
  return {
    fault,
    change: changeMemory,
    strike: (lab) => {
      api(lab, ...rules);
    },
    mend: (lab) => {
      api(lab);
    },
    says: { machine: "ml-container", cause },
    keeps: SAME,
    options: ["--refresh"],
  };
}

const onChange = { method: "PUT", path: "/lxc/129/config" };

faults("single", "API of Proxmox VE", [
  refusedBy(
    "it answers 500",
    [{ ...onChange, status: 500, message: "made by a test", times: 9 }],
    "received an HTTP 500 response - Reason: made by a test",
  ),
  refusedBy(
    "it answers 596",
    [{ ...onChange, status: 596, message: "Connection timed out", times: 9 }],
    "received an HTTP 596 response - Reason: ",
  ),
  refusedBy(
    "it says that the container is locked",
    [{ ...onChange, status: 500, message: "CT is locked (backup)", times: 9 }],
    "received an HTTP 500 response - Reason: CT is locked (backup)",
  ),
  refusedBy(
    "the ticket or token has expired",
    [{ ...onChange, status: 401, message: "permission denied - invalid PVE ticket", times: 9 }],
    "received an HTTP 401 response - Reason: ",
  ),
  refusedBy(
    "it closes the connection",
    [{ ...onChange, close: true, times: 9 }],
    "failed to perform HTTP PUT request (path: nodes/pve1/lxc/129/config) - Reason: ",
  ),
  {
    ...refusedBy(
      "a task ends with warnings",
      [{ path: "vzstart|vzreboot|vzshutdown", task: "WARNINGS: 2", times: 2 }],
      "",
    ),
    says: "nothing: the up goes through",
    keeps: AGAIN,
  },
]);

const PROVIDER = "pulumi:providers:proxmoxve::proxmox";

/** As docs/how-to/adopt-a-container.md has it: the container alone is imported, every step then looks for itself. */
function importContainer(lab: LabStack): void {
  const file = join(lab.folder, "import.json");
  const resources = [
    { type: "proxmox-gpu-stack:index:GpuContainer", name: "ml", component: true },
    {
      type: "proxmoxve:index/containerLegacy:ContainerLegacy",
      name: "ml-container",
      id: "pve1/129",
      parent: "ml",
      provider: "proxmox",
    },
  ];
  const nameTable = { proxmox: `urn:pulumi:test::proxmox-gpu-stack::${PROVIDER}` };
  writeFileSync(file, JSON.stringify({ nameTable, resources }));
  const { status, output } = lab.pulumi(
    "import",
    "--file",
    file,
    "--yes",
    "--skip-preview",
    "--generate-code=false",
  );
  if (status !== 0) throw new Error(output);
}

faults("single", "engine", [
  {
    fault: "two ups at the same time",
    change: (lab) => {
      changeService(lab);
    },
    moment: /qwen-service updating/,
    strike: (lab) => lab.pulumi("up", "--yes", "--skip-preview"),
    says: { ...LOCKED, next: "wait for the other process(es) to end" },
    keeps: AGAIN,
  },
  {
    fault: "the host is another one than the stack knows (host key)",
    change: (lab) => {
      changeService(lab);
    },
    strike: (lab) =>
      lab.edit((file) => {
        Object.assign(file.host ?? {}, {
          hostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        });
      }),
    mend: (lab) => {
      const key = lab.onHost("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub");
      lab.edit((file) => {
        Object.assign(file.host ?? {}, { hostKey: key });
      });
    },
    says: { machine: "driver-kernel", cause: "host key mismatch" },
    keeps: SAME,
  },
  {
    fault: "the state is lost",
    change: (lab) => {
      lab.forget();
      ml(lab, (container) => {
        container.adopt = true;
      });
      lab.pulumi("up", "--yes", "--skip-preview", "--target", `**${PROVIDER}`);
    },
    strike: (lab) => importContainer(lab),
    mend: (lab) => {
      ml(lab, (container) => {
        delete container.adopt;
      });
    },
    says: "nothing: the up goes through",
    keeps: SAME,
  },
]);
