import { banner } from "./banner";
import { SYSTEM_PATH } from "./environment-file";
import { hardening } from "./hardening";
import { ROUTER_LAUNCHER, servicePaths } from "./paths";
import { renderProbeService, renderProbeTimer } from "./probe-units";
import { environmentLine, unitText } from "./quote";
import { probeCommand, wrappedCommand } from "./service-unit";

/** All that the files of one router depend on. */
export interface RouterUnitInput {
  /** Name of the router in the stack. */
  readonly name: string;
  /** Node of the host, for the banner. */
  readonly node: string;
  readonly title: string;
  readonly user: string;
  /** Path of the Python environment; its `bin/python3` runs the router. */
  readonly environmentPath: string;
  /** Arguments of `sglang_router.launch_router`. */
  readonly arguments: readonly string[];
  /** Units of replicas in the same container, which start first at a boot. */
  readonly after: readonly string[];
  readonly stopTimeoutSeconds: number;
  readonly probeIntervalMinutes: number;
  /** Whether clients must send an API key. */
  readonly apiKey: boolean;
}

/** The file that systemd hands to the unit alone. */
const CREDENTIAL = "api-key";

/** Pause before a restart; the router starts within seconds. */
const RESTART_SECONDS = 5;

/** Requests that are cut off at the end of the router's own grace need a moment to be told so. */
const STOP_MARGIN_SECONDS = 10;

/** The router has no option to read its key from a file, and a command line is open to everybody on the machine. */
function command(input: RouterUnitInput): string {
  const python = `${input.environmentPath}/bin/python3`;
  if (!input.apiKey) return wrappedCommand([python, "-m", "sglang_router.launch_router", ...input.arguments]);
  const key = `/run/credentials/sglang-${input.name}.service/${CREDENTIAL}`;
  return wrappedCommand([python, ROUTER_LAUNCHER, key, ...input.arguments]);
}

function renderUnit(input: RouterUnitInput): string {
  const paths = servicePaths(input.name);
  const sections = [
    [
      "[Unit]",
      `Description=${unitText(input.title)}`,
      "Wants=network-online.target",
      ["After=network-online.target", ...input.after].join(" "),
      `RequiresMountsFor=${unitText(input.environmentPath)}`,
      "StartLimitIntervalSec=300",
      "StartLimitBurst=5",
    ],
    [
      "[Service]",
      "Type=exec",
      `User=${input.user}`,
      `StateDirectory=sglang-${input.name}`,
      "StateDirectoryMode=0750",
      `WorkingDirectory=${paths.home}`,
      `EnvironmentFile=${paths.environmentFile}`,
      ...(input.apiKey ? [`LoadCredential=${CREDENTIAL}:${paths.apiKey}`] : []),
      `ExecStartPre=${probeCommand(input, "preflight")}`,
      `ExecStart=${command(input)}`,
      "TimeoutStartSec=60",
      // SIGTERM and SIGINT both let running answers finish; both end with exit code 0.
      `TimeoutStopSec=${input.stopTimeoutSeconds + STOP_MARGIN_SECONDS}`,
      "Restart=on-failure",
      `RestartSec=${RESTART_SECONDS}`,
      // Exit code 2: arguments that the release does not know. Another start cannot help.
      "RestartPreventExitStatus=2",
      "LimitNOFILE=65535",
      ...hardening({ environmentPath: input.environmentPath, modelPaths: [] }),
    ],
    ["[Install]", "WantedBy=multi-user.target"],
  ];
  return `${banner(input)}\n${sections.map((lines) => `\n${lines.join("\n")}\n`).join("")}`;
}

function renderEnvironmentFile(input: RouterUnitInput): string {
  const { home } = servicePaths(input.name);
  const variables: Record<string, string> = {
    HF_HUB_OFFLINE: "1",
    HOME: home,
    LANG: "C.UTF-8",
    PATH: `${input.environmentPath}/bin:${SYSTEM_PATH}`,
    PYTHONUNBUFFERED: "1",
  };
  const lines = Object.entries(variables).map(([name, value]) => environmentLine(name, value));
  return `${[banner(input), ...lines].join("\n")}\n`;
}

/** The files of a router by their path in the container. No file holds a secret; the router's step writes that one. */
export function renderRouterFiles(input: RouterUnitInput): Record<string, string> {
  const paths = servicePaths(input.name);
  // A router that is restarted answers no better: its replicas do, and have probes of their own.
  const probe = { ...input, onDegenerate: "report" as const };
  return {
    [paths.unit]: renderUnit(input),
    [paths.environmentFile]: renderEnvironmentFile(input),
    [paths.probeService]: renderProbeService(probe),
    [paths.probeTimer]: renderProbeTimer(probe),
  };
}
