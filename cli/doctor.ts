import Table from "cli-table3";
import { PROJECT_DIRECTORY } from "../config/load";
import type { Problem } from "../config/problems";
import { UNKNOWN, type StackConfig } from "../config/schema";
import { checkApi } from "./doctor/api-check";
import { declaredAddresses } from "./doctor/container-checks";
import { diagnose } from "./doctor/diagnosis";
import { ok, problem, warning, type Finding } from "./doctor/finding";
import { needsOf } from "./doctor/room-checks";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { hostFacts, inventoryStep, type HostFacts } from "./inventory/host-facts";
import { lookAt, SshError } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { SecretError, secretOf } from "./stack-secrets";

/** What one way to the machine says, and whether it was open. */
interface Way {
  readonly findings: readonly Finding[];
  readonly unreachable: boolean;
}

/** What of the stack file itself stops an `up`. */
function fileFindings(problems: readonly Problem[]): Finding[] {
  return problems
    .filter(({ blocksUp, severity }) => blocksUp === true || severity === "error")
    .map(({ path, message, fix }) => problem("stack-file", `${path}: ${message}`, fix));
}

/** Facts over SSH, with the stack's key and host key. */
async function look(config: StackConfig, file: string): Promise<HostFacts> {
  const paths = needsOf(config, PROJECT_DIRECTORY).map(({ path }) => path);
  const reported = await lookAt(
    stackTarget(config, file),
    inventoryStep({ addresses: declaredAddresses(config), paths }),
  );
  return hostFacts(reported);
}

async function overSsh(config: StackConfig, file: string): Promise<Way> {
  try {
    const facts = await look(config, file);
    const place = `root@${config.host.address}`;
    const reached =
      config.host.hostKey === "insecure"
        ? warning(
            "ssh",
            `${place} can be reached, whoever it is: hostKey is insecure`,
            `pulumi config set --path 'proxmox-gpu-stack:host.hostKey' '${facts.hostKey}'`,
          )
        : ok("ssh", `${place} can be reached and has the declared host key`);
    const surroundings = { now: Date.now() / 1000, projectDirectory: PROJECT_DIRECTORY };
    return { findings: [reached, ...diagnose(config, facts, surroundings)], unreachable: false };
  } catch (error) {
    if (error instanceof SshError)
      return {
        findings: [problem("ssh", error.what, error.fix)],
        unreachable: error.exitCode === EXIT.unreachable,
      };
    if (error instanceof SecretError) return { findings: [secretFinding("ssh", error)], unreachable: false };
    throw error;
  }
}

function secretFinding(id: string, error: SecretError): Finding {
  return problem(
    id,
    error.message,
    "log in to the stack's backend and set its passphrase, as for `pulumi up`",
  );
}

async function overApi(config: StackConfig, file: string): Promise<Way> {
  try {
    const apiToken = secretOf(file, "apiToken", PROJECT_DIRECTORY);
    const apiPassword = secretOf(file, "apiPassword", PROJECT_DIRECTORY);
    // A missing secret is a finding of the stack file already.
    if (apiToken === undefined && apiPassword === undefined) return { findings: [], unreachable: false };
    const { finding, reached } = await checkApi(config.host, { apiToken, apiPassword });
    return { findings: [finding], unreachable: !reached };
  } catch (error) {
    if (error instanceof SecretError) return { findings: [secretFinding("api", error)], unreachable: false };
    throw error;
  }
}

const ORDER = { ok: 0, warning: 1, problem: 2 } as const;

/** The findings for a person: problems last, where they are seen, and what to do below, whole for copying. */
export function findingText(findings: readonly Finding[]): string {
  const table = new Table({
    head: ["what", "state", "found"],
    colWidths: [18, 12, 90],
    wordWrap: true,
    style: { head: [], border: [] },
    // No lines between rows.
    chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  });
  const fixes: string[] = [];
  for (const { id, state, message, fix } of [...findings].sort((a, b) => ORDER[a.state] - ORDER[b.state])) {
    if (fix !== undefined) fixes.push(`${fixes.length + 1}. ${fix}`);
    table.push([id, fix === undefined ? state : `${state} ${fixes.length}`, message]);
  }
  return [table.toString(), ...(fixes.length > 0 ? ["what to do:", ...fixes] : [])].join("\n");
}

/** `./stack doctor STACK [--json]`: what would stop an `up` on the stack's host; nothing changes there. */
export async function doctor(stack: string, options: { json?: boolean }): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const { source, config, problems } = assess(file);
  const known = config !== undefined && config.host.address !== UNKNOWN && config.host.hostKey !== UNKNOWN;
  const ways = known ? await Promise.all([overSsh(config, file), overApi(config, file)]) : [];
  const findings = [...fileFindings(problems), ...ways.flatMap((way) => way.findings)];
  const bad = findings.filter(({ state }) => state === "problem").length;
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ findings }, null, 2)}\n`);
  } else {
    const verdict =
      bad === 0 ? "nothing would stop an `up`" : `${bad} problem${bad === 1 ? "" : "s"} would stop an \`up\``;
    process.stdout.write(`${findingText(findings)}\n${source}: ${verdict}\n`);
  }
  if (ways.some(({ unreachable }) => unreachable)) return EXIT.unreachable;
  return bad > 0 ? EXIT.problems : EXIT.fine;
}
