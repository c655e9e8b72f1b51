import { banner } from "./banner";
import { hardening } from "./hardening";
import { servicePaths } from "./paths";
import { probeCommand } from "./service-unit";
import type { UnitInput } from "./types";

/** Time that one repetition may take: a sampled request on cold caches alone took two minutes. */
const PROBE_TIMEOUT_MINUTES = 15;

function assembled(input: UnitInput, sections: string[][]): string {
  return `${banner(input)}\n${sections.map((lines) => `\n${lines.join("\n")}\n`).join("")}`;
}

/** The text of `sglang-<name>-probe.service`: one repetition of the semantic probe. */
export function renderProbeService(input: UnitInput): string {
  const paths = servicePaths(input.name);
  const server = `sglang-${input.name}.service`;
  return assembled(input, [
    [
      "[Unit]",
      `Description=Semantic probe of ${server}`,
      `After=${server}`,
      ...(input.onDegenerate === "restart" ? [`OnFailure=sglang-${input.name}-restart.service`] : []),
    ],
    [
      "[Service]",
      "Type=oneshot",
      `User=${input.user}`,
      `StateDirectory=sglang-${input.name}`,
      "StateDirectoryMode=0750",
      `WorkingDirectory=${paths.home}`,
      `EnvironmentFile=${paths.environmentFile}`,
      ...(input.apiKey ? [`LoadCredential=api-key:${paths.apiKey}`] : []),
      // A server that is stopped is not degenerate: the repetition is skipped.
      `ExecCondition=/usr/bin/systemctl is-active --quiet ${server}`,
      `ExecStart=${probeCommand(input, "probe")}`,
      `TimeoutStartSec=${PROBE_TIMEOUT_MINUTES * 60}`,
      ...hardening(input),
    ],
  ]);
}

/** The text of `sglang-<name>-probe.timer`. */
export function renderProbeTimer(input: UnitInput): string {
  const interval = input.probeIntervalMinutes * 60;
  return assembled(input, [
    ["[Unit]", `Description=Repeats the semantic probe of sglang-${input.name}.service`],
    ["[Timer]", `OnActiveSec=${interval}`, `OnUnitInactiveSec=${interval}`, "AccuracySec=30"],
    ["[Install]", "WantedBy=timers.target"],
  ]);
}

/**
 * The text of `sglang-<name>-restart.service`: what a failed probe starts when the stack says `onDegenerate: restart`.
 * These restarts count against the server's own start limit, so that they are bounded.
 */
export function renderRestartService(input: UnitInput): string {
  const server = `sglang-${input.name}.service`;
  return assembled(input, [
    ["[Unit]", `Description=Restart of ${server} after degenerate output`],
    ["[Service]", "Type=oneshot", `ExecStart=/usr/bin/systemctl restart ${server}`],
  ]);
}
