/** One step on a host over the system's `ssh`, as root: for verbs that look, and for those that act on one thing. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { stepCommand, stepInput } from "../../plan/script";
import type { Step } from "../../plan/step";
import { EXIT, VerbError, type ExitCode } from "../exit-codes";

export interface SshTarget {
  readonly address: string;
  /** Default: what the user's own SSH configuration says, or 22. */
  readonly port?: number;
  /** `ssh-ed25519 AAAA…`; without it the key that the host shows is taken, once. */
  readonly hostKey?: string;
  /** Path of a private key. Without it and `privateKey`, the agent and the user's own keys. */
  readonly identity?: string;
  /** Text of a private key; it lies in a file that only its owner reads for as long as the connection lasts. */
  readonly privateKey?: string;
  /** Leave out the user's own SSH configuration and key files, which Pulumi's provider does not read either. */
  readonly asProvider?: boolean;
}

/** Why there is no answer. `exitCode` tells a machine that is not there from one that refuses. */
export class SshError extends VerbError {
  constructor(
    readonly what: string,
    readonly fix: string,
    exitCode: ExitCode,
  ) {
    super(`${what}\n  fix: ${fix}`, exitCode);
  }
}

/** How a step is run. */
export interface RunOptions {
  /** Default: check, in which no step changes anything. */
  readonly mode?: "check" | "apply";
  /** After so long the connection is closed. Default: 180. */
  readonly limitSeconds?: number;
  /** Gets the step's progress as it comes; without it progress is shown only in an error. */
  readonly show?: (text: string) => void;
  /** Ends the connection when it is raised; the call is refused then. */
  readonly signal?: AbortSignal;
}

const LIMIT_SECONDS = 180;

function options(target: SshTarget, folder: string): string[] {
  const knownHosts = path.join(folder, "known_hosts");
  const { address, port } = target;
  if (target.hostKey !== undefined) {
    const name = port === undefined || port === 22 ? address : `[${address}]:${port}`;
    writeFileSync(knownHosts, `${name} ${target.hostKey}\n`);
  }
  let identity = target.identity;
  if (target.asProvider === true && target.privateKey === undefined) identity = "none";
  if (target.privateKey !== undefined) {
    identity = path.join(folder, "key");
    writeFileSync(identity, `${target.privateKey.trimEnd()}\n`, { mode: 0o600 });
  }
  return [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    `UserKnownHostsFile=${knownHosts}`,
    "GlobalKnownHostsFile=/dev/null",
    `StrictHostKeyChecking=${target.hostKey === undefined ? "accept-new" : "yes"}`,
    ...(target.hostKey === undefined
      ? ["HostKeyAlgorithms=ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512"]
      : []),
    ...(identity === undefined
      ? []
      : [`IdentityFile=${identity}`, ...(identity === "none" ? [] : ["IdentitiesOnly=yes"])]),
  ].flatMap((option) => ["-o", option]);
}

/** What ssh's own last lines mean. */
export function sshProblem(address: string, stderr: string): SshError {
  const last = stderr.trim().split("\n").at(-1) ?? "no message";
  if (
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|No .* host key is known/.test(stderr)
  )
    return new SshError(
      `${address} shows another host key than the declared one`,
      "compare /etc/ssh/ssh_host_ed25519_key.pub on the host's console with the declared key; when the host was installed anew, declare its new key",
      EXIT.problems,
    );
  if (/Permission denied|Too many authentication failures/.test(stderr))
    return new SshError(
      `root@${address} does not accept the key: ${last}`,
      "name a key with --identity, load it into the SSH agent, or put its public half into /root/.ssh/authorized_keys on the host",
      EXIT.problems,
    );
  if (/invalid format|error in libcrypto|bad permissions/.test(stderr))
    return new SshError(
      `the private key cannot be used: ${last}`,
      "give a private key without a passphrase",
      EXIT.problems,
    );
  return new SshError(
    `${address} cannot be reached over SSH: ${last}`,
    "is the host up, its address and port right, and the way to it open?",
    EXIT.unreachable,
  );
}

/** How a command line ended; status null: it took longer than its limit. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function execute(
  words: readonly string[],
  input: string | Readable,
  limitSeconds: number,
  show: RunOptions["show"],
  signal: RunOptions["signal"],
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn("ssh", words, {
      stdio: "pipe",
      timeout: limitSeconds * 1000,
      env: process.env,
      ...(signal === undefined ? {} : { signal }),
    });
    const written = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      child[stream].setEncoding("utf8").on("data", (text: string) => (written[stream] += text));
    if (show !== undefined) child.stderr.on("data", show);
    child.on("error", (error) =>
      reject(
        new SshError(`ssh cannot be started: ${error.message}`, "install openssh-client", EXIT.problems),
      ),
    );
    child.on("close", (status) => resolve({ status, ...written }));
    // A connection that ends before it has read everything is told by its exit status.
    child.stdin.on("error", () => undefined);
    if (typeof input === "string") child.stdin.end(input);
    else input.on("error", reject).pipe(child.stdin);
  });
}

/** The JSON object in the last line of a step's output. */
function resultOf(stdout: string): Record<string, unknown> | undefined {
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  return last.startsWith("{") ? (JSON.parse(last) as Record<string, unknown>) : undefined;
}

/** Takes the folder, which may hold a private key, away also when Ctrl-C or a supervisor ends this process. */
function removeAtSignals(folder: string): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const listener = (signal: NodeJS.Signals): void => {
    rmSync(folder, { recursive: true, force: true });
    stop();
    // A verb that watches ends by itself; nobody else listens: the signal does what it would have done.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const stop = (): void => signals.forEach((signal) => process.off(signal, listener));
  for (const signal of signals) process.on(signal, listener);
  return stop;
}

/**
 * Runs a command line with a text or a stream on its standard input, over one connection. How it ended is the caller's to
 * judge.
 *
 * @throws SshError when the host cannot be reached or refuses
 */
export async function runCommand(
  target: SshTarget,
  command: string,
  input: string | Readable,
  { limitSeconds = LIMIT_SECONDS, show, signal }: Omit<RunOptions, "mode"> = {},
): Promise<Ended> {
  const folder = mkdtempSync(path.join(tmpdir(), "stack-ssh-"));
  const stopWatching = removeAtSignals(folder);
  try {
    const words = [
      ...(target.asProvider === true ? ["-F", "none"] : []),
      ...options(target, folder),
      ...(target.port === undefined ? [] : ["-p", String(target.port)]),
      "--",
      `root@${target.address}`,
      command,
    ];
    const ended = await execute(words, input, limitSeconds, show, signal);
    if (ended.status === 255) throw sshProblem(target.address, ended.stderr);
    return ended;
  } finally {
    stopWatching();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a step and returns what it reports.
 *
 * @throws SshError when the host cannot be reached, refuses, or the step fails
 */
export async function runStep(
  target: SshTarget,
  step: Step,
  { mode = "check", limitSeconds = LIMIT_SECONDS, show, signal }: RunOptions = {},
): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await runCommand(target, stepCommand(step, mode), stepInput(step), {
    limitSeconds,
    ...(show === undefined ? {} : { show }),
    ...(signal === undefined ? {} : { signal }),
  });
  const result = status === 0 ? resultOf(stdout) : undefined;
  if (result !== undefined) return result;
  const cause = status === null ? `it took more than ${limitSeconds} seconds` : stderr.trim();
  const doing = mode === "check" ? "looking at" : `${step.name} on`;
  throw new SshError(`${doing} ${target.address} failed: ${cause}`, "see the lines above", EXIT.problems);
}

/** Runs a step in mode check, so that nothing changes, and returns what it reports; throws as runStep does. */
export function lookAt(target: SshTarget, step: Step): Promise<Record<string, unknown>> {
  return runStep(target, step);
}
