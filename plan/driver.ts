import { compare } from "./version";

/** First releases of options of NVIDIA's installer (`nvidia-installer`'s change log, `proxmox.md` section 4). */
const MODULE_TYPE_OPTION_SINCE = "555.42.02";
const RUNNING_DRIVER_OPTION_SINCE = "545.23.06";

/**
 * The installer's options that depend on its version: which kernel modules, and leave to install beside a driver that is
 * loaded (the host is rebooted afterwards). An option that a version does not know ends it with "Invalid commandline".
 */
export function installerOptions(version: string, modules: "open" | "proprietary"): string[] {
  const kind =
    compare(version, MODULE_TYPE_OPTION_SINCE) >= 0
      ? `--kernel-module-type=${modules}`
      : `-m=${modules === "open" ? "kernel-open" : "kernel"}`;
  return compare(version, RUNNING_DRIVER_OPTION_SINCE) >= 0
    ? [kind, "--allow-installation-with-running-driver"]
    : [kind];
}

/** All that makes a loaded driver another one: what was started on the old one must start again. */
export function driverIdentity(driver: { readonly version: string; readonly modules: string }): string {
  return `${driver.version}-${driver.modules}`;
}
