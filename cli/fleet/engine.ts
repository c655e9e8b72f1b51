/** One stack's preview or `up` through Pulumi's Automation API, with the project and the stack file as they are. */
import { spawn } from "node:child_process";
import { LocalWorkspace, PulumiCommand, Stack, type EngineEvent } from "@pulumi/pulumi/automation";
import { PROJECT_DIRECTORY } from "../../config/load";
import { PulumiError } from "../pulumi";
import type { NamedStack } from "../status/stacks";
import type { Interruption } from "./interruption";

export interface EngineRun extends NamedStack {
  readonly operation: "preview" | "up";
  readonly interruption: Interruption;
  readonly onEvent: (event: EngineEvent) => void;
  /** Gets all that Pulumi prints, secrets masked. */
  readonly onText: (text: string) => void;
}

/** As the Automation API calls its commands. */
interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/**
 * Pulumi in a process group of its own. In ours, Ctrl-C would reach it twice, from the terminal and from us: the second time
 * it drops what it is doing, and resources are left that no state knows.
 */
function commandFor(pulumi: PulumiCommand, interruption: Interruption): PulumiCommand {
  const run = (
    words: readonly string[],
    cwd: string,
    environment: Readonly<Record<string, string>>,
    onOutput: (text: string) => void = () => undefined,
    onError: (text: string) => void = () => undefined,
  ): Promise<CommandResult> =>
    new Promise((resolve, reject) => {
      const child = spawn(pulumi.command, [...words, "--non-interactive"], {
        cwd,
        env: { ...process.env, ...environment },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const forget = interruption.listen(() => child.kill("SIGINT"));
      const printed = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        printed.stdout += text;
        onOutput(text);
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        printed.stderr += text;
        onError(text);
      });
      child.on("error", (error) => {
        forget();
        reject(new PulumiError(`pulumi cannot be started: ${error.message}`));
      });
      child.on("close", (code) => {
        forget();
        if (code === 0) return resolve({ ...printed, code });
        reject(new PulumiError(printed.stderr.trim()));
      });
    });
  // The API declares no way to start Pulumi otherwise; `run` is what it calls. test/engine/fleet.test.ts holds it to that.
  return { command: pulumi.command, version: pulumi.version, run } as unknown as PulumiCommand;
}

let found: Promise<PulumiCommand> | undefined;

/**
 * The Pulumi on the PATH, looked for once.
 *
 * @throws PulumiError when there is none, or one that is too old
 */
function installedPulumi(): Promise<PulumiCommand> {
  return (found ??= PulumiCommand.get().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    throw new PulumiError(
      `pulumi cannot be used: ${reason.includes("ENOENT") ? "it is not on the PATH" : reason}`,
    );
  }));
}

/**
 * Runs it to its end. The backend is whatever `pulumi login` says.
 *
 * @throws PulumiError with what Pulumi printed on standard error, when it ends with an error
 */
export async function runEngine(run: EngineRun): Promise<void> {
  const pulumiCommand = commandFor(await installedPulumi(), run.interruption);
  const workspace = await LocalWorkspace.create({ workDir: PROJECT_DIRECTORY, pulumiCommand });
  // Selecting would change what the person's next bare `pulumi up` deploys to, and every command names its stack.
  workspace.selectStack = () => Promise.resolve();
  // Asked after an `up`, with secrets in plain text; nobody reads them.
  workspace.stackOutputs = () => Promise.resolve({});
  const stack = await Stack.select(run.name, workspace);
  const options = {
    configFile: run.file,
    color: "never",
    onEvent: run.onEvent,
    onOutput: run.onText,
    onError: run.onText,
  } as const;
  if (run.operation === "preview") await stack.preview(options);
  else await stack.up({ ...options, showSecrets: false });
}
