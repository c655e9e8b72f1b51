/** The verbs about Python environments: `pin` and `wheelhouse`. */
import { createRequire } from "node:module";
import type { Command } from "commander";
import { UsageError, type ExitCode } from "./exit-codes";

const loadFile = createRequire(__filename);
const pins = () => loadFile("./pin") as typeof import("./pin");
const pushing = () => loadFile("./wheelhouse-push") as typeof import("./wheelhouse-push");
const rollbacks = () => loadFile("./rollback") as typeof import("./rollback");
const wheelhouse = () => loadFile("./wheelhouse") as typeof import("./wheelhouse");

const WHEELHOUSE_DIRECTORY = [
  "--dir <FOLDER>",
  "the wheelhouse; default: $PROXMOX_GPU_STACK_WHEELHOUSE, else ~/.cache/proxmox-gpu-stack/wheelhouse",
] as const;

interface PinFlags {
  check?: boolean;
  json?: boolean;
  index?: string;
  dir?: string;
  importTest: boolean;
}

function addPin(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command("pin [NAME...]")
    .description("resolve environments/NAME anew, try it, and write requirements.lock and wheelhouse.json")
    .option(
      "--check",
      "write nothing, ask no network: do pins, catalog, lock and list of files agree? default: all",
    )
    .option("--json", "with --check: print {problems: [{id, severity, path, message, fix}]}")
    .option("--index <URL>", "default package index; default: the one that uv or pip of this machine use")
    .option("--no-import-test", "do not fetch, install and import what was resolved; the lock says so")
    .option(...WHEELHOUSE_DIRECTORY)
    .action(async (names: string[], { check, json, ...options }: PinFlags) => {
      if (check === true) return finish(pins().checkPins(names, json === undefined ? {} : { json }));
      if (names.length === 0)
        throw new UsageError("pin: name the folder of environments/ that is to be locked");
      return finish(await pins().pin(names, options));
    });
}

function addRollback(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command("rollback <STACK> <ENVIRONMENT>")
    .description("bring an earlier environment back in a second; its services are held to their health gates")
    .option("--to <DIGEST>", "content address of one that is kept; default: the one that was in use before")
    .option("--list", "only tell what is kept: digest, last use, lock; * is the current one")
    .option("--json", "print {kept: [{digest, lock, lastUsed, current}]}")
    .action(async (stack: string, name: string, options: { to?: string; list?: boolean; json?: boolean }) => {
      finish(await rollbacks().rollback(stack, name, options));
    });
}

/** Adds the verbs to the command line. */
export function addEnvironmentCommands(program: Command, finish: (code: ExitCode) => void): void {
  addPin(program, finish);
  addRollback(program, finish);
  const group = program
    .command("wheelhouse")
    .description(
      "the files of environments in a local folder, by content: to build with no network, a year later",
    );
  group
    .command("fetch <NAME>")
    .description("bring every file of the lock that is not there; goes on where it stopped, verifies each")
    .option("--index <URL>", "default package index; default: the one that uv or pip of this machine use")
    .option("--mirror <URL>", "another wheelhouse behind HTTP: everything comes from there")
    .option(...WHEELHOUSE_DIRECTORY)
    .action(async (name: string, options: { index?: string; mirror?: string; dir?: string }) => {
      finish(await wheelhouse().fetchFiles(name, options));
    });
  group
    .command("verify <NAME>")
    .description("hash every file of the lock anew; exit code 2 names what is missing or corrupt")
    .option("--quick", "compare sizes only")
    .option(...WHEELHOUSE_DIRECTORY)
    .action(async (name: string, options: { quick?: boolean; dir?: string }) => {
      finish(await wheelhouse().verifyFiles(name, options));
    });
  group
    .command("push <STACK>")
    .description("send what the stack's host lacks; each file is verified there, and what arrived stays")
    .option(...WHEELHOUSE_DIRECTORY)
    .action(async (stack: string, options: { dir?: string }) => {
      finish(await pushing().push(stack, options));
    });
  group
    .command("gc")
    .description("remove the files that no environment of the project names")
    .option("--dry-run", "only say what would be removed, and how much that is")
    .option(...WHEELHOUSE_DIRECTORY)
    .action(async (options: { dryRun?: boolean; dir?: string }) => {
      finish(await wheelhouse().collectFiles(options));
    });
}
