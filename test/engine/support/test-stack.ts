import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { standIns } from "./stand-ins";

const ROOT = join(__dirname, "../../..");
const PROGRAM = join(__dirname, "../program");

/** A pulumi that takes longer is ended. */
const LONGEST_RUN_MS = 60_000;

/** The folder that engine/install writes to. */
const labDirectory = process.env.LAB_DIR ?? join(ROOT, ".lab");

/** Why there is no engine to test with; undefined when there is one. */
export function engineMissing(): string | undefined {
  const installed = existsSync(join(labDirectory, "engine/facts.sh"));
  return installed ? undefined : "the engine is not installed: run engine/install";
}

/** The environment that engine/env.sh makes. */
export function engineEnvironment(): NodeJS.ProcessEnv {
  const output = execFileSync("bash", ["-c", `. ${ROOT}/engine/env.sh && env --null`], { encoding: "utf8" });
  const rows = output.split("\0").filter((row) => row.includes("="));
  return Object.fromEntries(rows.map((row) => [row.split("=", 1)[0], row.slice(row.indexOf("=") + 1)]));
}

/** What the test's program is to do: a remote.Command, or to end with a message. */
export interface Program {
  readonly args?: Record<string, unknown>;
  readonly options?: Record<string, unknown>;
  readonly refuse?: string;
}

export interface Result {
  readonly failed: boolean;
  /** All that pulumi printed. */
  readonly output: string;
}

/** A stack of the test's program, with a state and a Pulumi home of its own, on the real engine and the stand-in. */
export class TestStack {
  private readonly folder = mkdtempSync(join(tmpdir(), "test-stack-"));
  private readonly environment: NodeJS.ProcessEnv;

  private constructor() {
    // A copy, because pulumi writes the stack's configuration beside the program.
    cpSync(PROGRAM, this.path("program"), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), this.path("program/node_modules"));
    const plugin = this.path(`home/plugins/resource-command-v${installedVersion("@pulumi/command")}`);
    mkdirSync(plugin, { recursive: true });
    mkdirSync(this.path("state"));
    symlinkSync(standIns().commandProvider, join(plugin, "pulumi-resource-command"));
    this.environment = {
      ...engineEnvironment(),
      PULUMI_HOME: this.path("home"),
      PULUMI_BACKEND_URL: `file://${this.path("state")}`,
      PULUMI_CONFIG_PASSPHRASE: "",
      TEST_PROGRAM: "{}",
    };
  }

  static async create(): Promise<TestStack> {
    const stack = new TestStack();
    const { failed, output } = await stack.pulumi(["stack", "init", "test"]);
    if (failed) throw new Error(output);
    cpSync(stack.path("state"), stack.path("pristine-state"), { recursive: true });
    return stack;
  }

  /** Forget all resources, without touching what they stand for. */
  reset(): void {
    rmSync(this.path("state"), { recursive: true });
    cpSync(this.path("pristine-state"), this.path("state"), { recursive: true });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  up(program: Program, ...flags: string[]): Promise<Result> {
    return this.pulumi(["up", "--yes", "--skip-preview", "--diff", ...flags], program);
  }

  preview(program: Program): Promise<Result> {
    return this.pulumi(["preview", "--diff"], program);
  }

  destroy(): Promise<Result> {
    return this.pulumi(["destroy", "--yes", "--skip-preview"]);
  }

  /** The stack's outputs. */
  async outputs(): Promise<Record<string, unknown>> {
    const { output } = await this.pulumi(["stack", "output", "--json"]);
    return JSON.parse(output) as Record<string, unknown>;
  }

  /** The types of what is in the state. */
  async resourceTypes(): Promise<string[]> {
    const { output } = await this.pulumi(["stack", "export"]);
    const state = JSON.parse(output) as {
      deployment: { resources?: { type: string }[] };
    };
    return (state.deployment.resources ?? []).map(({ type }) => type);
  }

  /**
   * Run a pulumi command on the stack. Standard error comes first in its output.
   * It must not block this process: the relay before the test's host runs in it.
   */
  private pulumi(args: string[], program: Program = {}): Promise<Result> {
    const options = {
      cwd: this.path("program"),
      env: { ...this.environment, TEST_PROGRAM: JSON.stringify(program) },
      timeout: LONGEST_RUN_MS,
    };
    return new Promise((resolve) => {
      execFile("pulumi", [...args, "--non-interactive", "--color", "never"], options, (error, out, err) => {
        resolve({ failed: error !== null, output: err + out });
      });
    });
  }

  private path(name: string): string {
    return join(this.folder, name);
  }
}

function installedVersion(npmPackage: string): string {
  const manifest = readFileSync(join(ROOT, "node_modules", npmPackage, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
