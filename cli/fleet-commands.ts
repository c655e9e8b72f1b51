/** The verbs about several stacks at once: `fleet preview`, `fleet up` and `fleet drift`. */
import { createRequire } from "node:module";
import type { Command } from "commander";
import type { ExitCode } from "./exit-codes";
import type { FleetUpOptions } from "./fleet";
import type { FleetOptions } from "./fleet/options";

const loadFile = createRequire(__filename);
const fleets = () => loadFile("./fleet") as typeof import("./fleet");
const drifts = () => loadFile("./fleet-drift") as typeof import("./fleet-drift");

const PARALLEL = ["--parallel <N>", "how many stacks at a time; default: 4"] as const;

/** Adds the verbs to the command line. */
export function addFleetCommands(program: Command, finish: (code: ExitCode) => void): void {
  const fleet = program
    .command("fleet")
    .description("several stacks side by side; default: every stack in service");
  fleet
    .command("preview [STACK...]")
    .description("what an `up` would change on each stack; no host is dialled; exit 2 when something would")
    .option(...PARALLEL)
    .option("--json", "print {stacks: [{stack, host, result, changes, seconds, log, failures}]}")
    .action(async (stacks: string[], options: FleetOptions) => {
      finish(await fleets().fleetPreview(stacks, options));
    });
  fleet
    .command("up [STACK...]")
    .description("preview every stack, ask once, deploy them; what fails on one does not stop the others")
    .option(...PARALLEL)
    .option("--yes", "do not ask")
    .option("--json", "print {stacks: [{stack, host, result, changes, seconds, log, failures}]}")
    .action(async (stacks: string[], options: FleetUpOptions) => {
      finish(await fleets().fleetUp(stacks, options));
    });
  fleet
    .command("drift [STACK...]")
    .description("what is not as declared on each stack's host; nothing changes there; exit 2 on drift")
    .option(...PARALLEL)
    .option("--json", "print {stacks: [{stack, host, result, seconds, checked, rows, unchecked, error}]}")
    .action(async (stacks: string[], options: FleetOptions) => {
      finish(await drifts().fleetDrift(stacks, options));
    });
}
