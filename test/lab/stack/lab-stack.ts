import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import { giveBackNetwork, takeNetwork } from "../network";

export const PROJECT = join(__dirname, "..", "..", "..");

/** A stack file as data; keys without their namespace. */
export type StackFile = Record<string, Record<string, unknown>>;

export interface Result {
  readonly status: number | null;
  /** stdout and stderr together, without colours. */
  readonly output: string;
}

interface PreviewStep {
  readonly op: string;
  readonly urn: string;
}

const PULUMI = '. engine/env.sh && exec pulumi "$@"';

/**
 * A lab of a test's own, beside any other on the machine, and the real engine deploying Pulumi.lab.yaml (or a changed
 * copy of it) to its host.
 */
export class LabStack {
  readonly folder = mkdtempSync(join(tmpdir(), "lab-stack-"));
  private readonly stackFile = join(this.folder, "Pulumi.test.yaml");
  private readonly environment: NodeJS.ProcessEnv;
  private content: StackFile = {};

  /** First three octets of its network. */
  readonly subnet = takeNetwork(this.folder);

  constructor() {
    this.environment = { ...process.env, LAB_DIR: this.folder, LAB_SUBNET: this.subnet };
  }

  /** Brings the lab's host up and lays out the engine. */
  up(): void {
    this.must("lab/lab", ["up"]);
    this.must("engine/install", []);
    initStack("test", this.folder, this.environment);
    this.reset();
  }

  /** Brings the host up from a saved state of the lab. The stack's state of then must be in `folder` already. */
  upFrom(layer: string): void {
    this.must("lab/lab", ["up", "--from", layer]);
    this.must("engine/install", []);
    this.reset();
  }

  /** Where a service of container 129 answers. */
  endpoint(port = 30000): string {
    return `http://${this.subnet}.129:${port}`;
  }

  /** Waits until a command on the host succeeds, at most two minutes. */
  untilOnHost(command: string): void {
    const { status, output } = this.tryOnHost(`timeout 120 bash -c 'until ${command}; do sleep 0.2; done'`);
    if (status !== 0) throw new Error(`not within two minutes (exit ${status}): ${command}\n${tail(output)}`);
  }

  /** Waits for a server that was just started: until its /health answers 200. */
  untilHealthy(port?: number): void {
    try {
      this.untilOnHost(`curl --fail --silent --show-error --max-time 10 ${this.endpoint(port)}/health`);
    } catch (error) {
      const why = this.tryOnHost("pct list; pct exec 129 -- journalctl -b --no-pager -q -n 60");
      throw new Error(`${String(error)}\n${why.output}`, { cause: error });
    }
  }

  /** Ends the lab; nothing of it stays. */
  down(): void {
    this.must("lab/lab", ["down"]);
    rmSync(this.folder, { recursive: true, force: true });
    giveBackNetwork(this.subnet);
  }

  /** Throws the state away: the next `up` meets a host of which it knows nothing. */
  forget(): void {
    this.must("bash", ["-c", ". engine/env.sh && pulumi stack rm test --force --yes --preserve-config"]);
    initStack("test", this.folder, this.environment);
  }

  /** Back to Pulumi.lab.yaml as it is in the repository, on this lab's addresses. */
  reset(): void {
    const text = labStackText(this);
    const { config } = parse(text) as { config: StackFile };
    this.content = Object.fromEntries(
      Object.entries(config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
    );
    this.save();
  }

  /** Changes the stack file. */
  edit(change: (file: StackFile) => void): void {
    change(this.content);
    this.save();
  }

  private save(): void {
    const config = Object.fromEntries(
      Object.entries(this.content).map(([key, value]) => [`proxmox-gpu-stack:${key}`, value]),
    );
    // The salt that `stack init` wrote belongs to the state.
    const { encryptionsalt } = parse(readFileSync(this.stackFile, "utf8")) as { encryptionsalt?: string };
    writeFileSync(this.stackFile, stringify({ encryptionsalt, config }));
  }

  private flags(args: readonly string[]): string[] {
    const stack = [
      "--stack",
      "test",
      "--config-file",
      this.stackFile,
      "--non-interactive",
      "--color",
      "never",
    ];
    return ["pulumi", ...args, ...stack];
  }

  /** Runs pulumi on this stack. */
  pulumi(...args: string[]): Result {
    return this.run("bash", ["-c", PULUMI, ...this.flags(args)]);
  }

  /** Starts pulumi and returns at once. */
  startPulumi(...args: string[]): ChildProcess {
    return spawn("bash", ["-c", PULUMI, ...this.flags(args)], {
      cwd: PROJECT,
      env: this.environment,
      stdio: "ignore",
    });
  }

  /** Starts an `up` and resolves with its exit status. */
  startUp(): Promise<number | null> {
    const child = this.startPulumi("up", "--yes", "--skip-preview");
    return new Promise((resolve) => child.on("exit", resolve));
  }

  /**
   * Waits until a command on the host prints something that matches.
   *
   * @param attempts how often it is asked, five times a second
   */
  async until(command: string, pattern: RegExp, attempts = 600): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (pattern.test(this.tryOnHost(command).output)) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${command} never showed ${String(pattern)}`);
  }

  /** `up` that must work. */
  deploy(...args: string[]): Result {
    const result = this.pulumi("up", "--yes", "--skip-preview", ...args);
    if (result.status !== 0) throw new Error(`pulumi up failed:\n${result.output}`);
    return result;
  }

  /** What a preview would do: the steps that are not "same", as "op name". */
  previewedSteps(): string[] {
    const result = spawnSync("bash", ["-c", PULUMI, ...this.flags(["preview", "--json"])], {
      cwd: PROJECT,
      env: this.environment,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    const { steps } = JSON.parse(result.stdout) as { steps?: PreviewStep[] };
    if (!steps) throw new Error(`the preview failed:\n${result.stdout}${result.stderr}`);
    return steps
      .filter(({ op }) => op !== "same")
      .map(({ op, urn }) => `${op} ${urn.split("::").at(-1) ?? ""}`);
  }

  /** The state as the backend has it. */
  state(): string {
    const { status, output } = this.run("bash", [
      "-c",
      ". engine/env.sh && pulumi stack export --stack test",
    ]);
    if (status !== 0) throw new Error(output);
    return output;
  }

  outputs(): Record<string, unknown> {
    const { status, output } = this.run("bash", [
      "-c",
      ". engine/env.sh && pulumi stack output --json --stack test 2>/dev/null",
    ]);
    if (status !== 0) throw new Error(output);
    return JSON.parse(output) as Record<string, unknown>;
  }

  /** A command line on the lab's host: its output, or an error with it. */
  onHost(command: string): string {
    const result = this.tryOnHost(command);
    if (result.status !== 0) throw new Error(`${command}\n${result.output}`);
    return result.output.trim();
  }

  tryOnHost(command: string): Result {
    return this.tryLab("shell", "pve1", command);
  }

  /** A command line in container 129. */
  inContainer(command: string): string {
    return this.onHost(`pct exec 129 -- ${command}`);
  }

  tryLab(...args: string[]): Result {
    return this.run("lab/lab", args);
  }

  /** A command of the lab, which must work: its output. */
  lab(...args: string[]): string {
    return this.must("lab/lab", args);
  }

  /** How often somebody logged in over SSH, and how many requests the API got, since the host's boot. */
  traffic(): { logins: number; requests: number } {
    const [logins, requests] = this.onHost(
      "journalctl -b --no-pager -q | grep -c 'Accepted publickey' || true; wc -l < /var/log/pveapi.log",
    )
      .split("\n")
      .map(Number);
    return { logins: logins ?? NaN, requests: requests ?? NaN };
  }

  private run(command: string, args: readonly string[]): Result {
    const result = spawnSync(command, [...args], {
      cwd: PROJECT,
      env: this.environment,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    return { status: result.status, output: result.stdout + result.stderr };
  }

  private must(command: string, args: readonly string[]): string {
    const { status, output } = this.run(command, args);
    if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${output}`);
    return output;
  }
}

/** What a person reads of a long output. */
const tail = (output: string) => output.trim().split("\n").slice(-5).join("\n");

/** Pulumi.lab.yaml as it is in the repository, on a lab's own addresses. */
export function labStackText({ subnet, folder }: Pick<LabStack, "subnet" | "folder">): string {
  return readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8")
    .replaceAll("10.77.0.", `${subnet}.`)
    .replaceAll("file:.lab/", `file:${folder}/`);
}

/**
 * Makes a stack without touching the project: `pulumi stack init` writes a salt into the stack file beside Pulumi.yaml,
 * and formats it anew.
 *
 * @param folder gets Pulumi.<name>.yaml, for `--config-file`
 */
export function initStack(name: string, folder: string, environment: NodeJS.ProcessEnv): string {
  copyFileSync(join(PROJECT, "Pulumi.yaml"), join(folder, "Pulumi.yaml"));
  const result = spawnSync(
    "bash",
    ["-c", PULUMI, "pulumi", "stack", "init", name, "--cwd", folder, "--non-interactive"],
    { cwd: PROJECT, env: environment, encoding: "utf8" },
  );
  if (result.status !== 0) throw new Error(`pulumi stack init ${name}: ${result.stdout}${result.stderr}`);
  return join(folder, `Pulumi.${name}.yaml`);
}

/** A lab for the tests of one file: up before the first, gone after the last. */
export function useLab(): LabStack {
  const stack = new LabStack();
  jest.setTimeout(600_000);
  beforeAll(() => {
    stack.up();
  });
  afterAll(() => {
    stack.down();
  });
  return stack;
}

/** `fetch` on a connection of its own: a kept one may be that of a server that is restarted, or of another lab. */
export function request(url: string, { headers, ...more }: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...more, headers: { ...(headers as Record<string, string>), connection: "close" } });
}

/** The service's answer to one question, without thinking. */
export async function ask(endpoint: string, question: string): Promise<string> {
  const response = await request(`${endpoint}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "qwen3.6-tiny",
      messages: [{ role: "user", content: question }],
      chat_template_kwargs: { enable_thinking: false },
    }),
  });
  const body = (await response.json()) as { choices: { message: { content: string } }[] };
  return body.choices[0]?.message.content ?? "";
}
