/** `./stack`: a thin layer over config/ and plan/. Each verb loads only what it needs. */
import { createRequire } from "node:module";
import path from "node:path";
import { Command, CommanderError } from "commander";
import { visibleLines } from "../config/visible";
import { addEnvironmentCommands } from "./environment-commands";
import { EXIT, VerbError, type ExitCode } from "./exit-codes";
import { addFleetCommands } from "./fleet-commands";
import { addReviewCommands } from "./review-commands";

/** Loads the file of one verb when it is asked for: most verbs need a fraction of the program. */
const loadFile = createRequire(__filename);
const verb = <T>(name: string): T => loadFile(`./${name}`) as T;

const PROJECT_DIRECTORY = path.join(__dirname, "..");

const EXIT_CODES = `
Exit codes: 0 fine, 1 problems found or refused, 2 differs, 3 used wrongly, 4 a machine could not be reached.
STACK is a stack's name or the path of a stack file.`;

function build(finish: (code: ExitCode) => void): Command {
  const program = new Command("stack")
    .description(
      "From a bare Proxmox VE host with NVIDIA GPUs to a healthy LLM service, and back to knowing what is there.",
    )
    .addHelpText("after", EXIT_CODES)
    .configureOutput({ outputError: (text, write) => write(visibleLines(text)) })
    .exitOverride();

  program
    .command("check <STACK...>")
    .description(
      "every problem of a stack's configuration and every rule that fires, of several stacks also what is wrong between them; no machine is asked",
    )
    .option(
      "--json",
      "print {problems: [{id, severity, path, message, fix, evidence}]}, of several stacks {stacks: [{stack, problems}], between: [problems]}",
    )
    .action((stacks: string[], options: { json?: boolean }) => {
      finish(verb<typeof import("./check")>("check").check(stacks, options));
    });

  addReviewCommands(program, finish);

  program
    .command("inventory <HOST>")
    .description(
      "what a Proxmox VE host has, as a stack file with comments; HOST is root@ADDRESS, nothing changes there",
    )
    .option("--identity <FILE>", "private SSH key; default: the SSH agent and your own keys")
    .option(
      "--host-key <KEY>",
      "public key that the host must have (ssh-ed25519 AAAA…); default: the one it shows",
    )
    .option("--json", "print the facts as JSON")
    .action(async (host: string, options: { identity?: string; hostKey?: string; json?: boolean }) => {
      finish(await verb<typeof import("./inventory")>("inventory").inventory(host, options));
    });

  program
    .command("adopt <HOST>")
    .description(
      "hand-made containers with their services as a stack file, and what to run next; nothing changes there",
    )
    .requiredOption("--container <ID,…>", "ids of the containers")
    .option(
      "--out <FILE>",
      "stack file to write, Pulumi.STACK.yaml, with the file for `pulumi import` beside it",
    )
    .option("--identity <FILE>", "private SSH key; default: the SSH agent and your own keys")
    .option(
      "--host-key <KEY>",
      "public key that the host must have (ssh-ed25519 AAAA…); default: the one it shows",
    )
    .action(async (host: string, options: import("./adopt").AdoptOptions) => {
      finish(await verb<typeof import("./adopt")>("adopt").adopt(host, options));
    });

  program
    .command("doctor <STACK>")
    .description("what would stop an `up` on the stack's host; nothing changes there")
    .option("--json", "print {findings: [{id, state, message, fix}]}")
    .action(async (stack: string, options: { json?: boolean }) => {
      finish(await verb<typeof import("./doctor")>("doctor").doctor(stack, options));
    });

  program
    .command("status [STACK...]")
    .description(
      "how stacks are: hosts, GPUs, containers, services, last probes; nothing changes there; default: every stack in service",
    )
    .option("--watch [SECONDS]", "look again and again, until Ctrl-C; default: every 10 seconds")
    .option(
      "--json",
      "print {stacks: [{stack, host, gpus, containers, services, problems} or {stack, error}]}; with --watch one line a look",
    )
    .action(async (stacks: string[], options: { json?: boolean; watch?: string | true }) => {
      finish(await verb<typeof import("./status")>("status").status(stacks, options));
    });

  program
    .command("drift <STACK>")
    .description("what is not as declared on the stack's host and in its containers; nothing changes there")
    .option("--repair", "apply exactly what differs again, through Pulumi")
    .option("--hash", "compare models by hash, not by size and time: reads every file")
    .option(
      "--json",
      "print {checked, rows: [{where, step, declared, found, repair, repairable}], unchecked, …}",
    )
    .action(async (stack: string, options: { json?: boolean; repair?: boolean; hash?: boolean }) => {
      finish(await verb<typeof import("./drift")>("drift").drift(stack, options));
    });

  program
    .command("decommission <STACK>")
    .description(
      "take a stack out of service: services stopped, containers destroyed, state kept aside, the file marked",
    )
    .option("--backup <STORAGE>", "back each container up into a storage of the host first")
    .option("--dead", "the host is gone: nothing is dialled, the state is kept aside and removed")
    .option("--yes <NAME>", "the stack's name, instead of a question")
    .option("--json", "print {stack, archive, backups, lost: [{kind, name, what}], kept}")
    .action(
      async (stack: string, options: { backup?: string; dead?: boolean; yes?: string; json?: boolean }) => {
        finish(await verb<typeof import("./decommission")>("decommission").decommission(stack, options));
      },
    );

  program
    .command("recommend")
    .description(
      "a service for a model on given cards, as a fragment of a stack file: release, pins, flags, memory, why",
    )
    .requiredOption("--model <MODEL>", "name in the catalog, or repository of the model hub")
    .requiredOption("--gpu <GPU>", "name in the catalog, such as rtx-a6000")
    .requiredOption("--count <N>", "number of cards")
    .option("--json", "print {release, service, pins, memoryGiB, arguments, environment, why}")
    .action((options: { model: string; gpu: string; count: string; json?: boolean }) => {
      finish(verb<typeof import("./recommend")>("recommend").recommend(options));
    });

  program
    .command("recover <STACK> <SERVICE>")
    .description("bring a service that served before back to health: ends what is left of its own unit only")
    .option("--json", "print {service, unit, healthy, recovered, differences, holders, error?}")
    .action(async (stack: string, service: string, options: { json?: boolean }) => {
      finish(await verb<typeof import("./recover")>("recover").recover(stack, service, options));
    });

  program
    .command("explain <RULE>")
    .description("what a rule says, for which SGLang releases, and where it comes from")
    .option("--json", "print the rule as JSON")
    .action((rule: string, options: { json?: boolean }) => {
      finish(verb<typeof import("./explain")>("explain").explain(rule, options));
    });

  program
    .command("judge <FILE>")
    .description(
      "judge chat answers in a JSON file (- reads standard input): healthy text, or loops, word salad, nothing",
    )
    .option("--json", "print {verdicts: [{healthy, reasons}]}")
    .action(async (file: string, options: { json?: boolean }) => {
      const { exitCode, output, errors } = await verb<typeof import("./judge")>("judge").judgeFile(
        file,
        options.json,
      );
      process.stdout.write(output);
      process.stderr.write(visibleLines(errors));
      finish(exitCode as ExitCode);
    });

  program
    .command("describe-model <REPO>")
    .description(
      "record a model's revision: its files with their hashes in models/<owner>--<name>/<commit>.json, its facts where the catalog lacks it",
    )
    .option("--revision <COMMIT>", "commit of the repository; default: the newest")
    .option("--endpoint <URL>", "address of the model hub")
    .option("--json", "print {revision, list, file, catalog, facts, differences}")
    .action(async (repo: string, options: { revision?: string; endpoint?: string; json?: boolean }) => {
      const { describeModel } = verb<typeof import("./describe-model")>("describe-model");
      const { json, ...wanted } = options;
      const found = await describeModel(repo, { ...wanted, projectDirectory: PROJECT_DIRECTORY });
      const { list, file, differences } = found;
      process.stdout.write(
        json === true
          ? `${JSON.stringify({ ...found, file: file ?? null, catalog: found.catalog ?? null }, null, 2)}\n`
          : `${[list, file].filter((name) => name !== undefined).join("\n")}\n`,
      );
      for (const line of differences) process.stderr.write(`config.json: ${line}\n`);
      if (differences.length > 0) finish(EXIT.problems);
    });

  addFleetCommands(program, finish);
  addEnvironmentCommands(program, finish);

  program
    .command("rehome <FROM> <TO>")
    .description("take services of one stack to the host of another: cards mapped, every rule run anew")
    .option("--service <NAME...>", "services to take; default: all of FROM")
    .option("--dry-run", "write nothing, show the difference of TO's stack file")
    .option("--json", "print {written, moved, refused: [{from, on, reasons, alternatives}], copies, diff}")
    .action((from: string, to: string, options: { service?: string[]; dryRun?: boolean; json?: boolean }) => {
      finish(verb<typeof import("./rehome")>("rehome").rehome(from, to, options));
    });

  const catalog = program.command("catalog").description("what is known about SGLang releases");
  catalog
    .command("add-release <VERSION>")
    .description("read a release's own flags and pins from its wheel and write catalog/releases/VERSION.json")
    .action(async (version: string) => {
      const file = await verb<typeof import("./catalog")>("catalog").addRelease(version);
      process.stdout.write(`${file}\n`);
    });
  return program;
}

/** Runs one command line and returns its exit code. */
export async function run(words: readonly string[]): Promise<number> {
  let code: ExitCode = EXIT.fine;
  try {
    await build((result) => (code = result)).parseAsync([...words], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.usage;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`stack: ${visibleLines(message)}\n`);
    return error instanceof VerbError ? error.exitCode : EXIT.problems;
  }
}

if (require.main === module) {
  void run(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
}
