import { formatProblems } from "../config/problems";
import { UNKNOWN } from "../config/schema";
import { shellWord } from "../plan/script";
import { repair, RepairError } from "./drift/repair";
import { driftExitCode, driftLook } from "./drift/stack-look";
import { driftText } from "./drift/text";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { runCommand, type SshTarget } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { say } from "./say";

export interface DriftOptions {
  readonly json?: boolean;
  readonly repair?: boolean;
  readonly hash?: boolean;
}

/** A repair's own command on the host. */
async function act(target: SshTarget, command: string, what: string): Promise<void> {
  const { status, stderr } = await runCommand(target, command, "");
  if (status !== 0)
    throw new RepairError(
      `${what}: ${stderr.trim()}\n  fix: see the message, then run the same command again`,
    );
}

/** A stopped one stays so. */
const stopContainer = (target: SshTarget, vmId: number): Promise<void> =>
  act(
    target,
    `test "$(pct status ${vmId})" != "status: running" || pct shutdown ${vmId} --timeout 120 --forceStop 1`,
    `container ${vmId} does not stop`,
  );

const touchFiles = (target: SshTarget, paths: readonly string[]): Promise<void> =>
  act(target, `touch -c -- ${paths.map(shellWord).join(" ")}`, "damaged files cannot be marked");

/** `./stack drift STACK [--json] [--repair] [--hash]`: what is not as declared; without --repair nothing changes. */
export async function drift(stack: string, options: DriftOptions): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    say(formatProblems(source, problems));
    return EXIT.problems;
  }
  if ([config.host.address, config.host.hostKey].includes(UNKNOWN)) {
    say(`${source}: the host's address or key was not recorded; ./stack check ${stack} says how to`);
    return EXIT.problems;
  }
  const target: SshTarget = stackTarget(config, file);
  const look = driftLook(file, target, config, plan, { hash: options.hash === true });
  let seen = await look();
  let repaired: string[] = [];
  if (options.repair === true && seen.report.rows.length > 0) {
    say(driftText(source, seen.report, seen.seconds));
    repaired = await repair({
      file,
      config,
      plan,
      first: seen.report,
      stop: (vmId) => stopContainer(target, vmId),
      touch: (paths) => touchFiles(target, paths),
      look: async () => (seen = await look()).report,
    });
  }
  const { report, looks, seconds } = seen;
  if (options.json === true) {
    const times = Object.fromEntries(
      looks.filter(({ kind }) => kind === "step").map(({ name, milliseconds }) => [name, milliseconds]),
    );
    process.stdout.write(
      `${JSON.stringify({ ...report, repaired, seconds, milliseconds: times }, null, 2)}\n`,
    );
  } else {
    process.stdout.write(`${driftText(source, report, seconds)}\n`);
  }
  return driftExitCode(report);
}
