import { banner } from "./banner";
import { servicePaths } from "./paths";
import { probeCommand } from "./service-unit";
import type { UnitInput } from "./types";

/** Time that one repetition may take: a sampled request on cold caches alone took two minutes. */
const PROBE_TIMEOUT_SECONDS = 900;

type ProbeInput = Pick<
  UnitInput,
  "name" | "node" | "environmentPath" | "probeIntervalMinutes" | "onDegenerate"
>;

function assembled(input: ProbeInput, sections: readonly (readonly string[])[]): string {
  return `${banner(input)}\n${sections.map((lines) => `\n${lines.join("\n")}\n`).join("")}`;
}

/**
 * What the probe needs is less than a server: it reads, asks over HTTP, writes its state and may restart the server.
 * It runs as root, who alone may restart a unit, read its journal and the API key.
 */
const HARDENING = [
  "NoNewPrivileges=yes",
  "CapabilityBoundingSet=CAP_DAC_READ_SEARCH",
  "ProtectSystem=strict",
  "ProtectHome=read-only",
  "PrivateTmp=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelLogs=yes",
  "ProtectHostname=yes",
  "LockPersonality=yes",
  "MemoryDenyWriteExecute=yes",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "SystemCallArchitectures=native",
  "SystemCallFilter=@system-service",
  "SystemCallErrorNumber=EPERM",
  "UMask=0022",
];

/** The text of `sglang-<name>-probe.service`: one repetition of the semantic probe. */
export function renderProbeService(input: ProbeInput): string {
  const server = `sglang-${input.name}.service`;
  const restart = input.onDegenerate === "restart" ? ["--restart-on-degenerate"] : [];
  const command = probeCommand(input, "probe", [
    "--metrics-file",
    servicePaths(input.name).probeMetrics,
    ...restart,
  ]);
  return assembled(input, [
    ["[Unit]", `Description=Semantic probe of ${server}`, `After=${server}`],
    [
      "[Service]",
      "Type=oneshot",
      "StateDirectory=proxmox-gpu-stack/probe",
      `ExecStart=${command}`,
      `TimeoutStartSec=${PROBE_TIMEOUT_SECONDS}`,
      ...HARDENING,
    ],
  ]);
}

/** The text of `sglang-<name>-probe.timer`. */
export function renderProbeTimer(input: ProbeInput): string {
  const interval = input.probeIntervalMinutes * 60;
  return assembled(input, [
    ["[Unit]", `Description=Repeats the semantic probe of sglang-${input.name}.service`],
    ["[Timer]", `OnActiveSec=${interval}`, `OnUnitInactiveSec=${interval}`, "AccuracySec=30"],
    ["[Install]", "WantedBy=timers.target"],
  ]);
}
