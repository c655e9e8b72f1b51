/** One script that runs the check mode of every step of a host and of its containers, and how its output is read. */
import { shellWord, stepArguments, stepInput } from "../script";
import type { Step } from "../step";

/** What one look found: a step that ended, a container that let nothing be looked at, or a container's configuration. */
export interface Look {
  readonly kind: "step" | "container" | "configuration";
  /** Name of the step, or id of the container. */
  readonly name: string;
  /** Exit status; 124: it took too long. */
  readonly status: number;
  readonly milliseconds: number;
  /** All that it printed; a step's last line is its JSON object. */
  readonly output: string;
}

/** What a check script is made of. */
export interface CheckInput {
  readonly steps: readonly Step[];
  /** Containers whose configuration is wanted. */
  readonly containers: readonly number[];
  readonly secrets: Readonly<Record<string, string>>;
  /** A word that no tool prints; it marks where one look ends. */
  readonly mark: string;
  /** A container that does not answer for so long is given up. */
  readonly limitSeconds: number;
}

/**
 * Runs the script that comes on standard input. Read whole into memory: bash reads a script on a pipe one byte at a
 * time, a file would hold secrets, and so would a command line.
 */
export const READ_AND_RUN = `bash -c 'eval "$(cat)"'`;

/** Ends a look: `kind name`, the status of the command before it, and how long it took since `begun`. */
const end = (mark: string, kind: Look["kind"], name: string) =>
  `printf '\\n${mark} ${kind} ${name} %s %s\\n' "$?" "$(((\${EPOCHREALTIME/[.,]/} - begun) / 1000))"`;

const BEGIN = "begun=${EPOCHREALTIME/[.,]/}";

/** Something to run, and a text that it finds in `$text`: quoted once, however deep what runs it is nested. */
interface Task {
  readonly command: string;
  readonly text: string;
}

/** A step in a shell of its own: what it defines, sets and traps ends with it. */
function stepTask(step: Step, { secrets, mark }: CheckInput): Task {
  const wanted = Object.fromEntries(
    step.secrets.flatMap((name) => (secrets[name] === undefined ? [] : [[name, secrets[name]]])),
  );
  const words = [step.name, ...stepArguments(step, "check")].join(" ");
  return {
    text: `set -- ${words}\n${stepInput(step, wanted)}`,
    command: [BEGIN, '(eval "$text") </dev/null 2>&1', end(mark, "step", step.name)].join("\n"),
  };
}

function configurationTask(vmId: number, { mark }: CheckInput): Task {
  return {
    text: `/etc/pve/lxc/${vmId}.conf`,
    command: [BEGIN, 'cat "$text" 2>&1', end(mark, "configuration", String(vmId))].join("\n"),
  };
}

/**
 * Tasks side by side, as many as the machine has cores and a few more, for most of their time is waiting. Who is free takes
 * the next number from a pipe: four digits, which head reads at one go. Each worker writes into a pipe, never into a file;
 * the pipes are read one after the other, so that no output is mixed.
 */
function sideBySide(tasks: readonly Task[]): string {
  return [
    `texts=(${tasks.map(({ text }) => shellWord(text)).join("\n")})`,
    `commands=(${tasks.map(({ command }) => shellWord(command)).join("\n")})`,
    "count=${#commands[@]}",
    "width=$(($(nproc) + 2))",
    "((width < count)) || width=$count",
    'exec {queue}< <(for ((task = 0; task < count; task++)); do printf %04d "$task"; done)',
    "pipes=()",
    "for ((worker = 0; worker < width; worker++)); do",
    '  exec {pipe}< <(while task=$(head -c 4 <&"$queue") && [[ -n $task ]]; do',
    '    task=$((10#$task)); text=${texts[task]}; eval "${commands[task]}"; done)',
    '  pipes+=("$pipe")',
    "done",
    'for pipe in ${pipes[@]+"${pipes[@]}"}; do cat <&"$pipe"; done',
  ].join("\n");
}

/** All steps of one container over one `pct exec`. In base64: quotes in quotes would make the text many times as long. */
function containerTask(vmId: number, input: CheckInput): Task {
  const steps = input.steps.filter(({ target }) => target.kind === "container" && target.vmId === vmId);
  const inside = sideBySide(steps.map((step) => stepTask(step, input)));
  return {
    text: Buffer.from(inside).toString("base64"),
    command: [
      BEGIN,
      `printf '%s' "$text" | base64 -d |`,
      `  timeout --kill-after=5 ${input.limitSeconds} pct exec ${vmId} --keep-env 0 -- ${READ_AND_RUN} 2>&1`,
      end(input.mark, "container", String(vmId)),
    ].join("\n"),
  };
}

/** What goes to `READ_AND_RUN` on the host: every check of the host and, through `pct`, of its containers. */
export function checkScript(input: CheckInput): string {
  const inside = new Set(
    input.steps.flatMap(({ target }) => (target.kind === "container" ? [target.vmId] : [])),
  );
  return `${sideBySide([
    ...[...inside].map((vmId) => containerTask(vmId, input)),
    ...input.steps.filter(({ target }) => target.kind === "host").map((step) => stepTask(step, input)),
    ...input.containers.map((vmId) => configurationTask(vmId, input)),
  ])}\n`;
}

/** The looks in a check script's output. What was cut off, or printed by a container's own shell, is no look. */
export function parseLooks(output: string, mark: string): Look[] {
  const looks: Look[] = [];
  const end = new RegExp(`^${mark} (step|container|configuration) (\\S+) (\\d+) (\\d+)$`);
  let lines: string[] = [];
  for (const line of output.split("\n")) {
    const match = end.exec(line);
    if (match === null) {
      lines.push(line);
      continue;
    }
    const [, kind, name, status, milliseconds] = match;
    looks.push({
      kind: kind as Look["kind"],
      name: name ?? "",
      status: Number(status),
      milliseconds: Number(milliseconds),
      output: lines.join("\n").trim(),
    });
    lines = [];
  }
  return looks;
}
