import type { LabStack } from "../lab/stack/lab-stack";
import { everyStep, LOCKED } from "./every-step";
import type { Keeps, Said } from "./case-name";
import { faults, useFaultLab, type FaultCase } from "./fault-case";
import { changeService } from "./fault-lab";
import { api } from "./strikes";

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
]);
