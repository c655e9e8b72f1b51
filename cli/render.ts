import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { formatProblems } from "../config/problems";
import { RENDERED_ENTRIES, renderStack } from "../plan/render/stack";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { renderedBefore } from "./review/rendered-before";
import { renderedDiff } from "./review/rendered-comment";
import { refuseSecrets } from "./review/secrets";
import { stackFileOf } from "./stack-argument";

/** Refuses a folder that holds anything else: a rendering replaces what is there. */
function refuseForeign(out: string): void {
  if (!existsSync(out)) return;
  if (!statSync(out).isDirectory()) throw new UsageError(`--out ${out} is no directory`);
  const foreign = readdirSync(out).filter(
    (entry) => !(RENDERED_ENTRIES as readonly string[]).includes(entry),
  );
  if (foreign.length === 0) return;
  throw new UsageError(
    `--out ${out} holds ${foreign.slice(0, 3).join(", ")}, which no rendering wrote: name a folder of its own`,
  );
}

/** Writes files into a folder that appears only when it is complete. */
function writeWhole(files: Readonly<Record<string, string>>, out: string): void {
  mkdirSync(path.dirname(out), { recursive: true });
  const aside = mkdtempSync(`${out}.`);
  try {
    for (const [file, text] of Object.entries(files)) {
      const target = path.join(aside, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    rmSync(out, { recursive: true, force: true });
    renameSync(aside, out);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

export interface RenderOptions {
  /** Folder for the files. */
  readonly out?: string;
  /** What to compare with: a revision, or a folder of an earlier rendering. */
  readonly diff?: string;
}

/**
 * `./stack render STACK --out DIR`: what the stack puts on machines, as files; no machine is asked.
 * `./stack render STACK --diff BASE`: what differs from BASE, as a comment for a pull request; exit code 2 when something does.
 */
export function render(stack: string, options: RenderOptions): ExitCode {
  if ((options.out === undefined) === (options.diff === undefined))
    throw new UsageError("render needs one of --out DIR and --diff BASE");
  const file = stackFileOf(stack);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    process.stderr.write(`${formatProblems(source, problems)}\n`);
    return EXIT.problems;
  }
  const files = renderStack(config, plan);
  refuseSecrets(file, files);
  if (options.out !== undefined) {
    const out = path.resolve(options.out);
    refuseForeign(out);
    writeWhole(files, out);
    process.stdout.write(`${source}: ${Object.keys(files).length} files in ${options.out}\n`);
    return EXIT.fine;
  }
  const name = path.basename(source).replace(/^Pulumi\.(.+)\.yaml$/, "$1");
  const { differs, comment } = renderedDiff(name, renderedBefore(file, options.diff ?? ""), files);
  process.stdout.write(comment);
  return differs ? EXIT.differs : EXIT.fine;
}
