import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { hostPart } from "../config/addresses";
import { PROJECT_DIRECTORY } from "../config/load";
import { formatProblem } from "../config/problems";
import { listed, nearest } from "../config/suggest";
import { rehome as search, stackOf, type Moved, type Refused, type Rehoming } from "../plan/rehome";
import type { Alternative } from "../plan/rehome/nearest";
import { copies, type Copies } from "../plan/rehome/copies";
import type { Stack } from "../plan/rehome/values";
import { renderStack } from "../plan/render/stack";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { fileDiffs } from "./review/file-diffs";
import { refuseSecrets } from "./review/secrets";
import { stackFileOf } from "./stack-argument";

export interface RehomeOptions {
  /** Services to take; default: all. */
  readonly service?: string[];
  /** Only show what would be written. */
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const GIB = 2 ** 30;

function load(argument: string): { file: string; stack: Stack } {
  const file = stackFileOf(argument);
  const name = path.basename(file).replace(/^Pulumi\.(.+)\.yaml$/, "$1");
  const result = stackOf(name, readFileSync(file, "utf8"), PROJECT_DIRECTORY);
  if ("stack" in result) return { file, stack: result.stack };
  const reasons = result.reasons.map(({ id, path: place, message }) => `${id} ${place}: ${message}`);
  throw new Error(`${path.basename(file)} has errors, see ./stack check ${argument}:\n${reasons.join("\n")}`);
}

function chosen(stack: Stack, wanted: readonly string[] | undefined): string[] {
  const names = Object.keys(stack.config.services);
  const unknown = wanted?.find((name) => !names.includes(name));
  if (unknown === undefined) return wanted === undefined ? names : [...new Set(wanted)];
  const suggestion = nearest(unknown, names);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  throw new UsageError(`${stack.name} has no service "${unknown}": it has ${listed(names)}${hint}`);
}

function size(bytes: number | undefined): string {
  return bytes === undefined ? "size not recorded" : `${(bytes / GIB).toFixed(bytes < GIB ? 3 : 1)} GiB`;
}

function alternativeLine({ model, gpu, count, release, contextLength, command }: Alternative): string {
  const context = contextLength === undefined ? "" : `, ${contextLength} tokens of context`;
  return `  ${model} on ${count} x ${gpu} with SGLang ${release}${context}: ${command}`;
}

function refusalText({ from, on, reasons, alternatives }: Refused, to: Stack): string {
  const blocks = reasons.map((reason) =>
    `✖ ${reason.id}: ${formatProblem({ severity: "error", ...reason })}`.replace(/^/gm, "  "),
  );
  const instead =
    alternatives.length === 0
      ? []
      : [`What ${to.name} can serve instead:`, ...alternatives.map(alternativeLine)];
  return [`${from} is refused on ${on} of ${to.name}:`, ...blocks, ...instead].join("\n");
}

function movedText({ from, service, cards, lock, notes }: Moved): string {
  const name = service === from ? from : `${from} (as ${service})`;
  return [
    `${name}: ${cards.cards.join(", ")} (${cards.cards.length} x ${cards.model}), environments/${lock}`,
    ...notes.map((note) => `  ${note}`),
  ].join("\n");
}

function copyText({ models, wheels }: Copies): string[] {
  return [
    ...models.map(
      ({ name, repo, revision, path: place, bytes }) =>
        `  model ${name}: ${repo} at ${revision} to ${place} (${size(bytes)})`,
    ),
    ...wheels.map(
      ({ lock, files, bytes }) => `  packages of environments/${lock}: ${files} files (${size(bytes)})`,
    ),
  ];
}

/** Values of the other host that must be nowhere in what moved. */
function foreignValues({ config }: Stack, to: Stack): string[] {
  const { host, gpus, containers } = config;
  const values = [
    host.address,
    host.hostKey,
    ...Object.values(gpus).flatMap(({ uuid, pci }) => [uuid, pci]),
    ...Object.values(containers).flatMap(({ network }) => [hostPart(network.address), network.gateway]),
  ];
  return values.flatMap((value) =>
    value === undefined || value === "unknown" || value === "insecure" || to.text.includes(value)
      ? []
      : [value],
  );
}

/** What is written must be a stack that renders, and hold nothing that only the other host has. */
function verify(from: Stack, before: Stack, { to, text }: Rehoming, file: string): void {
  const left = foreignValues(from, before).find((value) => text.includes(value));
  if (left !== undefined)
    throw new Error(
      `${left} belongs to ${from.name} and would be in ${before.name}: it stands in a setting of a service, a model or an environment; take it out there first`,
    );
  refuseSecrets(file, renderStack(to.config, to.plan));
}

function writeWhole(file: string, text: string): void {
  const aside = `${file}.new`;
  try {
    writeFileSync(aside, text);
    renameSync(aside, file);
  } finally {
    rmSync(aside, { force: true });
  }
}

/**
 * `./stack rehome FROM TO [--service NAME …] [--dry-run] [--json]`: takes services of one stack to the host of another.
 *
 * Everything that was asked for moves, or nothing is written: exit code 1 when a service is refused.
 */
export function rehome(fromArgument: string, toArgument: string, options: RehomeOptions): ExitCode {
  const { stack: from } = load(fromArgument);
  const { file, stack: to } = load(toArgument);
  if (from.text === to.text) throw new UsageError(`${fromArgument} and ${toArgument} are the same stack`);
  const result = search(from, to, chosen(from, options.service), PROJECT_DIRECTORY);
  const needed = copies(
    result.to.config,
    result.moved.map(({ service }) => service),
    PROJECT_DIRECTORY,
  );
  const isRefused = result.refused.length > 0;
  if (!isRefused) verify(from, to, result, file);
  const name = path.basename(file);
  const [difference] = fileDiffs({ [name]: to.text }, { [name]: result.text });
  if (!isRefused && options.dryRun !== true && difference !== undefined) writeWhole(file, result.text);

  if (options.json === true) {
    const moved = result.moved.map(({ additions, ...rest }) => ({ ...rest, entries: additions }));
    const written = !isRefused && options.dryRun !== true;
    const facts = { written, moved, refused: result.refused, copies: needed, diff: difference?.text ?? "" };
    process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
    return isRefused ? EXIT.problems : EXIT.fine;
  }
  if (isRefused) {
    process.stderr.write(`${result.refused.map((entry) => refusalText(entry, to)).join("\n\n")}\n`);
    const fitting = result.moved.map(({ from: service }) => service);
    const hint =
      fitting.length === 0
        ? ""
        : `; these would fit: ${fitting.map((service) => `--service ${service}`).join(" ")}`;
    process.stderr.write(`\nnothing was written${hint}\n`);
    return EXIT.problems;
  }
  const lines = [
    ...result.moved.map(movedText),
    `To copy, or to be downloaded by the first up:`,
    ...copyText(needed),
    ...(options.dryRun === true
      ? ["", difference?.text ?? ""]
      : [`${name} is written: ./stack check ${to.name}`]),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  return EXIT.fine;
}
