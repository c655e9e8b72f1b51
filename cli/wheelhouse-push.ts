/** `./stack wheelhouse push STACK`: what the stack's host lacks, from the local wheelhouse, over SSH. */
import { createReadStream, existsSync, statSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { formatProblems } from "../config/problems";
import type { StackConfig } from "../config/schema";
import { scriptText, shellWord } from "../plan/script";
import type { Step } from "../plan/step";
import { EXIT, type ExitCode } from "./exit-codes";
import { assess } from "./findings";
import { localWheelhouse } from "./pin/tools";
import { runCommand, runStep, type SshTarget } from "./remote/ssh";
import { stackTarget } from "./remote/stack-target";
import { stackFileOf } from "./stack-argument";
import { say } from "./say";

export interface PushOptions {
  /** The wheelhouse to send from. Default: the local one. */
  readonly dir?: string;
}

interface Outgoing {
  readonly sha256: string;
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

const DAY_SECONDS = 24 * 3600;
const MIB = 1024 * 1024;
/** The files that the host says it lacks, as they lie here; the second list are those that are not here either. */
function outgoing(missing: readonly string[], wheelhouse: string): { files: Outgoing[]; absent: string[] } {
  const files: Outgoing[] = [];
  const absent: string[] = [];
  for (const entry of missing) {
    const [sha256 = "", name = ""] = entry.split("/");
    const file = path.join(wheelhouse, "files", sha256, name);
    if (existsSync(file)) files.push({ sha256, name, path: file, bytes: statSync(file).size });
    else absent.push(name);
  }
  return { files, absent };
}

/** Header and content of every file, one after the other; tells how far it is. */
async function* content(files: readonly Outgoing[]): AsyncGenerator<Buffer> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const begun = Date.now();
  let sent = 0;
  let shown = 0;
  for (const [index, file] of files.entries()) {
    yield Buffer.from(`${file.sha256} ${file.bytes} ${file.name}\n`);
    for await (const chunk of createReadStream(file.path, { highWaterMark: MIB })) {
      yield chunk as Buffer;
      sent += (chunk as Buffer).length;
      if (Date.now() - shown < 2000 && sent < total) continue;
      shown = Date.now();
      const seconds = Math.max((shown - begun) / 1000, 0.001);
      const left = Math.round((total - sent) / (sent / seconds));
      say(
        `[${Math.round(seconds)}s] file ${index + 1} of ${files.length}, ${Math.round(sent / MIB)} of ${Math.round(total / MIB)} MiB, ${left} s left`,
      );
    }
  }
}

/** The last words of a receiver that gave up, for a person. */
function refusal(stdout: string, stderr: string): { what: string; fix: string } {
  const damaged = /^damaged (.*)$/m.exec(stdout)?.[1];
  if (damaged !== undefined) {
    return {
      what: `${damaged} in your wheelhouse is not what its address says`,
      fix: "remove it there, run ./stack wheelhouse fetch, and push again",
    };
  }
  const last = stderr.trim().split("\n").at(-1) ?? "";
  const fix = /No space left/.test(stderr)
    ? "make room on the host, then push again: what arrived stays"
    : "run the same command again: what arrived stays";
  return { what: last === "" ? "the host ended the transfer" : last, fix };
}

async function send(target: SshTarget, folder: string, files: readonly Outgoing[]): Promise<ExitCode> {
  const script = scriptText("tools/wheelhouse-receive");
  const command = `bash -c ${shellWord(script)} receive ${shellWord(folder)}`;
  const ended = await runCommand(target, command, Readable.from(content(files)), {
    limitSeconds: DAY_SECONDS,
  });
  const stored = ended.stdout.match(/^stored /gm)?.length ?? 0;
  if (ended.status === 0) {
    say(`${stored} files are on the host and verified; run \`pulumi up\``);
    return EXIT.fine;
  }
  const { what, fix } = refusal(ended.stdout, ended.stderr);
  say(`stack: ${stored} of ${files.length} files arrived, then: ${what}\n  fix: ${fix}`);
  return EXIT.problems;
}

async function pushTo(config: StackConfig, target: SshTarget, step: Step, dir: string): Promise<ExitCode> {
  const folder = config.wheelhouse?.path ?? "";
  const found = await runStep(target, step);
  const { files, absent } = outgoing((found["missing"] as string[] | undefined) ?? [], dir);
  if (absent.length > 0) {
    const locks = [...new Set(Object.values(config.environments).map(({ lock }) => lock))];
    say(
      `stack: neither the host nor ${dir} has ${absent.join(", ")}\n  fix: ${locks.map((lock) => `./stack wheelhouse fetch ${lock}`).join("; ")}`,
    );
    return EXIT.problems;
  }
  if (files.length === 0) {
    say(`${folder} on the host has every file that the locks name`);
    return EXIT.fine;
  }
  if (found["writable"] === false) {
    say(
      `stack: ${folder} on the host cannot be written to and lacks ${files.length} files\n  fix: put them there on the server that it comes from: ${files.map(({ name }) => name).join(", ")}`,
    );
    return EXIT.problems;
  }
  return send(target, folder, files);
}

/** Sends what is missing; a transfer that was cut off goes on with the next file when it is run again. */
export async function push(stack: string, options: PushOptions): Promise<ExitCode> {
  const file = stackFileOf(stack);
  const { source, config, plan, problems } = assess(file);
  if (config === undefined || plan === undefined) {
    say(formatProblems(source, problems));
    return EXIT.problems;
  }
  if (plan.wheelhouse === undefined) {
    say(
      `stack: ${source} has no wheelhouse\n  fix: add the key wheelhouse with the path of a folder on the host`,
    );
    return EXIT.problems;
  }
  const dir = path.resolve(options.dir ?? localWheelhouse());
  return await pushTo(config, stackTarget(config, file), plan.wheelhouse, dir);
}
