import type { UnitInput } from "./types";

/**
 * System calls that neither a server nor its compilers need. A list of what is allowed would be shorter, but CUDA, NCCL
 * and Triton use calls that no published list names.
 */
const DENIED_CALLS = "~@clock @cpu-emulation @module @mount @obsolete @raw-io @reboot @swap";

type Paths = Pick<UnitInput, "environmentPath" | "modelPaths">;

function homesAreNeeded(input: Paths): boolean {
  return [input.environmentPath, ...input.modelPaths].some((path) => /^\/(root|home)(\/|$)/.test(path));
}

/**
 * Settings that keep a server inside its bounds and leave it the GPUs, its compilers and shared memory.
 *
 * Left out on purpose:
 * - PrivateDevices, DevicePolicy and ProtectClock: each closes the device list and would hide /dev/nvidia*
 *   (ProtectClock adds a DeviceAllow for the clock). A container holds only the devices that it was given.
 * - MemoryDenyWriteExecute: Triton and torch write the code that they run.
 * - ProtectProc, ProtectControlGroups and ProtectKernelTunables: in a container they put a fresh /proc in the place of the
 *   container's (seen on systemd 252): lxcfs's view is lost, so that the server sees the host's memory and processors. An
 *   unprivileged container's kernel tunables are read-only anyway. ProcSubset: CUDA reads /proc/driver/nvidia.
 * - PrivateIPC: NCCL's shared memory is in /dev/shm.
 */
export function hardening(input: Paths): string[] {
  return [
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    // The environment or a model lies below /root or /home: hiding those would hide it.
    `ProtectHome=${homesAreNeeded(input) ? "read-only" : "yes"}`,
    "PrivateTmp=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectHostname=yes",
    "LockPersonality=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "SystemCallArchitectures=native",
    `SystemCallFilter=${DENIED_CALLS}`,
    "SystemCallErrorNumber=EPERM",
    "KeyringMode=private",
    "UMask=0027",
  ];
}
