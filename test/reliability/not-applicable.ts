import type { NotApplicable } from "./report";

/** Cells of the report's table that no case can have, and why. */
export const NOT_APPLICABLE: readonly NotApplicable[] = [
  {
    component: "host's driver",
    fault: "connection refused after",
    reason: "the step after it waits for the host, as after a reboot",
  },
  {
    component: "service",
    fault: "connection refused after",
    reason: "it is the last step",
  },
  {
    component: "model",
    fault: "connection refused after",
    reason: "no step waits for a model that no service uses",
  },
  {
    component: "container's devices and mounts",
    fault: "connection refused after",
    reason: "with only a mount changed, no step that follows has anything to do",
  },
  {
    component: "container's devices and mounts",
    fault: "disk full",
    reason: "Proxmox VE keeps what the step changes, in its own file system",
  },
  {
    component: "container's driver libraries",
    fault: "connection refused before",
    reason: "the host's driver is looked at first, and refused",
  },
  {
    component: "container's driver libraries",
    fault: "connection refused after",
    reason: "with only the libraries gone, no step that follows has anything to do",
  },
  {
    component: "container's driver libraries",
    fault: "host rebooted during",
    reason: "the step is over before an orderly shutdown reaches it",
  },
  {
    component: "router",
    fault: "connection refused after",
    reason: "it is the last step",
  },
  {
    component: "wheelhouse",
    fault: "connection refused after",
    reason: "the step after it is the environment's: see there, connection refused before",
  },
];
