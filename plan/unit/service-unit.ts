import { banner } from "./banner";
import { hardening } from "./hardening";
import { LIBRARY, servicePaths } from "./paths";
import { execArgument, unitText } from "./quote";
import type { UnitInput } from "./types";

/** Pause before a restart: GPU memory of a killed server is free after about 6 seconds. */
const RESTART_SECONDS = 30;

/** Starts in one start-limit interval, the first included. */
const START_BURST = 3;

/** A command of the probe package, run by the environment's Python. */
export function probeCommand(
  input: Pick<UnitInput, "name" | "environmentPath">,
  verb: string,
  options: readonly string[] = [],
): string {
  const { specification } = servicePaths(input.name);
  const words = [
    "/usr/bin/env",
    `PYTHONPATH=${LIBRARY}`,
    "PYTHONDONTWRITEBYTECODE=1",
    `${input.environmentPath}/bin/python3`,
    "-m",
    "sglang_probe",
    verb,
    "--spec",
    specification,
    ...options,
  ];
  return words.map(execArgument).join(" ");
}

/** A command line with one option and its values a line. */
export function wrappedCommand(words: readonly string[]): string {
  const lines: string[][] = [[]];
  for (const [index, word] of words.entries()) {
    const startsOption = word.startsWith("--") && index > 0;
    if (startsOption) lines.push([]);
    lines.at(-1)?.push(execArgument(word));
  }
  return lines.map((line) => line.join(" ")).join(" \\\n  ");
}

/** Where the server finds its API key: never in the command line, which everyone on the machine can read. */
function secretArguments(input: UnitInput): string[] {
  return input.apiKey ? ["--config", `/run/credentials/sglang-${input.name}.service/arguments.yaml`] : [];
}

/**
 * A server that crashes again and again is left alone. A node is not: it ends whenever another one of its group does, also
 * for hours while that one's host is down, and the group comes together again only when every node keeps coming back.
 */
function startLimits(input: UnitInput): string[] {
  if (input.isNode) return ["StartLimitIntervalSec=0"];
  const attempt = input.startTimeoutMinutes * 60 + RESTART_SECONDS;
  return [
    // Loading may take half an hour, so that the interval must hold all attempts with their full loading time.
    `StartLimitIntervalSec=${START_BURST * attempt + 60}`,
    `StartLimitBurst=${START_BURST}`,
  ];
}

function unitSection(input: UnitInput): string[] {
  // Ordered one way only, or two conflicting units would wait for each other; a stop comes first either way, so that the
  // cards are free when this one starts.
  const conflicts = input.conflicts.flatMap((unit) =>
    unit < `sglang-${input.name}.service` ? [`Conflicts=${unit}`, `After=${unit}`] : [`Conflicts=${unit}`],
  );
  return [
    "[Unit]",
    `Description=${unitText(input.title)}`,
    "Wants=network-online.target",
    "After=network-online.target",
    `RequiresMountsFor=${[input.environmentPath, ...input.modelPaths].map(unitText).join(" ")}`,
    ...conflicts,
    ...startLimits(input),
  ];
}

function serviceSection(input: UnitInput): string[] {
  const paths = servicePaths(input.name);
  const command = [
    `${input.environmentPath}/bin/python3`,
    "-m",
    "sglang.launch_server",
    ...secretArguments(input),
    ...input.arguments,
  ];
  return [
    "[Service]",
    // The server never notifies systemd: readiness is the health gate's to tell.
    "Type=exec",
    `User=${input.user}`,
    `StateDirectory=sglang-${input.name}`,
    "StateDirectoryMode=0750",
    `WorkingDirectory=${paths.home}`,
    `EnvironmentFile=${paths.environmentFile}`,
    ...(input.apiKey ? [`LoadCredential=arguments.yaml:${paths.secretArguments}`] : []),
    `ExecStartPre=${probeCommand(input, "preflight")}`,
    `ExecStart=${wrappedCommand(command)}`,
    // Preflight imports torch and opens a CUDA context; loading itself comes after the start.
    "TimeoutStartSec=300",
    // SIGTERM never ends a server that has answered one request with 400; SIGINT ends it with exit code 0. It goes to the
    // main process alone, so that running answers keep their scheduler until they are finished or the time is over.
    "KillSignal=SIGINT",
    "KillMode=mixed",
    `TimeoutStopSec=${input.stopTimeoutSeconds}`,
    // A node above rank 0 can end with exit code 0 when its scheduler is gone.
    `Restart=${input.isNode ? "always" : "on-failure"}`,
    `RestartSec=${RESTART_SECONDS}`,
    // Exit code 2: arguments that the release does not know. Another start cannot help.
    "RestartPreventExitStatus=2",
    "LimitNOFILE=65535",
    "LimitMEMLOCK=infinity",
    "LimitSTACK=67108864",
    ...hardening(input),
  ];
}

/** The text of `sglang-<name>.service`. */
export function renderServiceUnit(input: UnitInput): string {
  const sections = [unitSection(input), serviceSection(input), ["[Install]", "WantedBy=multi-user.target"]];
  return `${banner(input)}\n${sections.map((lines) => `\n${lines.join("\n")}\n`).join("")}`;
}
