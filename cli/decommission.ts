import { formatProblems } from "../config/problems";
import { UNKNOWN, type StackConfig } from "../config/schema";
import { backupSteps, belongings, drainSteps, type Belonging, type Inventory } from "../plan/decommission";
import type { StackPlan } from "../plan/stack";
import type { Step } from "../plan/step";
import { confirm } from "./decommission/confirm";
import { retireFile } from "./decommission/retire-file";
import { archiveState } from "./decommission/state-archive";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { pulumi, PulumiError } from "./pulumi";
import { runCommand, runStep, SshError, type SshTarget } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { SecretError, stackNameOf } from "./stack-secrets";
import { say } from "./say";

export interface DecommissionOptions {
  readonly json?: boolean;
  /** Storage of the host that takes a backup of each container. */
  readonly backup?: string;
  /** The host is gone: nothing is dialled. */
  readonly dead?: boolean;
  /** The stack's name, instead of a question. */
  readonly yes?: string;
}

interface Subject {
  readonly file: string;
  readonly name: string;
  readonly config: StackConfig;
  readonly plan: StackPlan;
}

const show = (text: string): void => {
  process.stderr.write(text);
};

const lines = (title: string, items: readonly Belonging[]): string[] =>
  items.length === 0 ? [] : [title, ...items.map(({ kind, name, what }) => `  ${kind} ${name}: ${what}`)];

function announce(
  { name, config }: Subject,
  { lost, kept }: Inventory,
  { dead, backup }: DecommissionOptions,
) {
  const { node, address } = config.host;
  const rest =
    backup === undefined
      ? "no backup is made: --backup STORAGE makes one"
      : `containers are backed up into ${backup} before`;
  say(
    [
      dead === true
        ? `${name}: ${node} (${address}) is given up. Nothing is dialled.`
        : `${name} on ${node} (${address}) goes out of service; ${rest}.`,
      ...lines(dead === true ? "Lost with the host:" : "Lost:", lost),
      ...lines(`Stays on ${node}:`, kept),
    ].join("\n"),
  );
}

/** Containers that run; in others there is nothing to stop. */
async function running(target: SshTarget, config: StackConfig): Promise<Set<number>> {
  const ids = Object.values(config.containers).map(({ vmId }) => vmId);
  const loop = `for id in ${ids.join(" ")}; do echo "$id $(pct status "$id" 2>/dev/null)"; done`;
  const { stdout } = await runCommand(target, loop, "");
  return new Set(ids.filter((id) => stdout.split("\n").includes(`${id} status: running`)));
}

async function applyAll(target: SshTarget, steps: readonly Step[]): Promise<Record<string, unknown>[]> {
  const facts = [];
  for (const step of steps) {
    say(step.summary);
    facts.push(await runStep(target, step, { mode: "apply", limitSeconds: step.timeoutMinutes * 60, show }));
  }
  return facts;
}

/** Services drained, containers backed up; the paths of the backups. */
async function prepare({ file, config, plan }: Subject, backup: string | undefined, now: Date) {
  const target = stackTarget(config, file);
  const alive = await running(target, config);
  await applyAll(
    target,
    drainSteps(config, plan).filter(
      (step) => step.target.kind !== "container" || alive.has(step.target.vmId),
    ),
  );
  if (backup === undefined) return [];
  const facts = await applyAll(target, backupSteps(config, backup, String(now.getTime())));
  return facts.map(({ archive }) => String(archive));
}

/** The protection holds until here: this verb is the deliberate way to take a stack away. */
async function destroy(file: string, protectedUrns: readonly string[]): Promise<void> {
  for (const urn of protectedUrns) await pulumi(file, ["state", "unprotect", urn, "--yes"]);
  await pulumi(file, ["destroy", "--yes", "--skip-preview", "--config-file", file], { show });
}

async function takeAway(subject: Subject, options: DecommissionOptions) {
  const { file } = subject;
  const now = new Date();
  const backups = options.dead === true ? [] : await prepare(subject, options.backup, now);
  const archive = await archiveState(file, now);
  if (options.dead !== true) await destroy(file, archive.protectedUrns);
  retireFile(file, now.toISOString().slice(0, 10));
  if (archive.path !== undefined)
    await pulumi(file, [
      "stack",
      "rm",
      "--yes",
      "--preserve-config",
      ...(options.dead === true ? ["--force"] : []),
    ]);
  return { archive: archive.path ?? null, backups };
}

/**
 * `./stack decommission STACK`: takes a stack out of service; with `--dead` one whose host is gone, without dialling
 * anything. The stack file stays and is marked retired.
 */
export async function decommission(stack: string, options: DecommissionOptions): Promise<ExitCode> {
  if (options.dead === true && options.backup !== undefined)
    throw new UsageError("--backup needs the host, which --dead says is gone: leave one of them out");
  const file = stackFileOf(stack);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    say(formatProblems(source, problems));
    return EXIT.problems;
  }
  if (options.dead !== true && [config.host.address, config.host.hostKey].includes(UNKNOWN)) {
    say(
      `${source}: the host's address or key was not recorded (./stack check ${stack}); for a host that is gone: --dead`,
    );
    return EXIT.problems;
  }
  const subject = { file, name: stackNameOf(file), config, plan };
  const inventory = belongings(config, plan, options.dead === true);
  announce(subject, inventory, options);
  await confirm(subject.name, options.yes);
  try {
    const outcome = await takeAway(subject, options);
    if (options.json === true)
      process.stdout.write(`${JSON.stringify({ stack: subject.name, ...outcome, ...inventory }, null, 2)}\n`);
    else {
      const where = outcome.archive === null ? "it had no state" : `its state is kept in ${outcome.archive}`;
      const saved = outcome.backups.map((path) => `\nbackup: ${path}`).join("");
      process.stdout.write(
        `${source}: out of service, ${where}; the file stays, marked as retired${saved}\n`,
      );
    }
    return EXIT.fine;
  } catch (error) {
    if (error instanceof SshError) {
      const unreachable = error.exitCode === EXIT.unreachable;
      say(
        `stack: ${error.message}${unreachable ? `\n  if the host is gone for good: ./stack decommission ${stack} --dead` : ""}`,
      );
      return error.exitCode;
    }
    if (!(error instanceof PulumiError) && !(error instanceof SecretError)) throw error;
    say(`stack: ${error.message}\n  fix: the same command goes on from here when the cause is gone`);
    return EXIT.problems;
  }
}
