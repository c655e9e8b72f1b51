/** Where the files of a service lie in its container. */

/** Python packages that units and steps use (`sglang_probe`). */
export const LIBRARY = "/usr/local/lib/proxmox-gpu-stack";

/** Starts a router with the API key from a file. */
export const ROUTER_LAUNCHER = `${LIBRARY}/launch_router.py`;

/** Where repeated probes keep their state and its textfile metrics. */
export const PROBE_DIRECTORY = "/var/lib/proxmox-gpu-stack/probe";

const UNITS = "/etc/systemd/system";

export interface ServicePaths {
  /** `sglang-<name>.service` and its companions. */
  readonly unit: string;
  readonly probeService: string;
  readonly probeTimer: string;
  /** Environment variables of the server; no secrets. */
  readonly environmentFile: string;
  /** What preflight, gate and repeated probe compare with. */
  readonly specification: string;
  /** The API key as it is, for the probe; root only, written by the service's step from standard input. */
  readonly apiKey: string;
  /** The API key as a file of arguments, for the server's --config; root only, written by the same step. */
  readonly secretArguments: string;
  /** Verdict of the last repeated probe, and the same as a metric. */
  readonly probeState: string;
  readonly probeMetrics: string;
  /** HOME of the server: caches of compiled kernels, which must outlive a restart. */
  readonly home: string;
}

/** The paths of the service `<name>`. */
export function servicePaths(name: string): ServicePaths {
  const settings = `/etc/proxmox-gpu-stack/services/${name}`;
  return {
    unit: `${UNITS}/sglang-${name}.service`,
    probeService: `${UNITS}/sglang-${name}-probe.service`,
    probeTimer: `${UNITS}/sglang-${name}-probe.timer`,
    environmentFile: `${settings}/environment`,
    specification: `${settings}/specification.json`,
    apiKey: `${settings}/api-key`,
    secretArguments: `${settings}/arguments.yaml`,
    probeState: `${PROBE_DIRECTORY}/${name}.json`,
    probeMetrics: `${PROBE_DIRECTORY}/${name}.prom`,
    home: `/var/lib/sglang-${name}`,
  };
}
