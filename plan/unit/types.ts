/** All that the files of one service depend on. */
export interface UnitInput {
  /** Name of the service in the stack. */
  readonly name: string;
  /** Node of the host, for the banner. */
  readonly node: string;
  /** What is served, for `systemctl status`. */
  readonly title: string;
  /** System user; `root` is possible. */
  readonly user: string;
  /** Path of the Python environment; its `bin/python3` runs the server. */
  readonly environmentPath: string;
  /** Directory of the model, and of the draft model if there is one. */
  readonly modelPaths: readonly string[];
  /** Arguments of `sglang.launch_server`. */
  readonly arguments: readonly string[];
  /** Variables for the server beyond those that every service gets. */
  readonly environment: Readonly<Record<string, string>>;
  /** UUIDs of the cards when the service uses a part of the container's; undefined for all of them. */
  readonly visibleGpus: readonly string[] | undefined;
  /** Other services' units that must not run at the same time. */
  readonly conflicts: readonly string[];
  readonly startTimeoutMinutes: number;
  readonly stopTimeoutSeconds: number;
  readonly probeIntervalMinutes: number;
  readonly onDegenerate: "report" | "restart";
  /** Whether it is one part of a server over several containers. */
  readonly isNode: boolean;
  /** Whether clients must send an API key. */
  readonly apiKey: boolean;
}
