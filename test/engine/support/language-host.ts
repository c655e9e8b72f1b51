import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { ClientUnaryCall, requestCallback, ServiceError } from "@grpc/grpc-js";
import { LanguageRuntimeClient } from "@pulumi/pulumi/proto/language_grpc_pb";
import * as language from "@pulumi/pulumi/proto/language_pb";
import type { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { Empty, grpc, PluginProcess, Struct } from "./plugin-process";
import { standIns } from "./stand-ins";

/** Writes what it was started with, and ends as the test says. */
const FAKE_NODE = `#!/usr/bin/env bash
printf '%s\\0' "$@" >"$FAKE_NODE_FOLDER/arguments"
env --null >"$FAKE_NODE_FOLDER/environment"
pwd >"$FAKE_NODE_FOLDER/started"
trap 'echo >"$FAKE_NODE_FOLDER/interrupted"; exit 130' INT
while [[ -e "$FAKE_NODE_FOLDER/hangs" ]]; do sleep 0.01; done
if [[ -e "$FAKE_NODE_FOLDER/code" ]]; then exit "$(<"$FAKE_NODE_FOLDER/code")"; fi
`;

export interface RunOptions {
  /** `runtime: options:` of Pulumi.yaml. */
  readonly options?: Record<string, unknown>;
  readonly config?: Record<string, string>;
  readonly secretKeys?: readonly string[];
  readonly preview?: boolean;
  readonly debugger?: boolean;
}

/** How a program ended, as the engine is told. */
export interface Ended {
  readonly error: string;
  readonly bail: boolean;
}

/** A request that the test may take back. */
export interface Running {
  readonly ended: Promise<Ended>;
  cancel(): void;
}

/** The language host's stand-in as a process, with a folder for a program, and a node that only notes how it was started. */
export class LanguageHost {
  private constructor(
    readonly folder: string,
    private readonly plugin: PluginProcess,
    private readonly client: LanguageRuntimeClient,
  ) {}

  static async start(): Promise<LanguageHost> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "language-host-")));
    mkdirSync(join(folder, "bin"));
    mkdirSync(join(folder, "program"));
    writeFileSync(join(folder, "bin/node"), FAKE_NODE);
    chmodSync(join(folder, "bin/node"), 0o755);
    const plugin = await PluginProcess.start(standIns().languageHost, ["--flag", "engine:1"], {
      ...process.env,
      PATH: [join(folder, "bin"), process.env.PATH].join(delimiter),
      FAKE_NODE_FOLDER: folder,
    });
    const client = new LanguageRuntimeClient(plugin.address, grpc.credentials.createInsecure() as never);
    return new LanguageHost(folder, plugin, client);
  }

  async stop(): Promise<number | null> {
    this.client.close();
    const code = await this.plugin.stop();
    rmSync(this.folder, { recursive: true });
    return code;
  }

  /** Ends the process as the engine does, and leaves the folder. */
  interrupt(): Promise<number | null> {
    return this.plugin.stop();
  }

  get program(): string {
    return join(this.folder, "program");
  }

  /** Write a package.json into the program's node_modules. @param manifest as text it is written as it is */
  npmPackage(path: string, manifest: Record<string, unknown> | string): void {
    this.write(
      join("program/node_modules", path, "package.json"),
      typeof manifest === "string" ? manifest : JSON.stringify(manifest),
    );
  }

  /** Put an SDK with the `cmd/run` that programs are run by into the program's folder, or above it. */
  sdk(folder = "program"): string {
    const runner = join(folder, "node_modules/@pulumi/pulumi/cmd/run");
    this.write(join(runner, "index.js"), "");
    return join(this.folder, runner);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  /** The arguments that node was started with. */
  get nodeArguments(): string[] {
    return readFileSync(join(this.folder, "arguments"), "utf8").split("\0").slice(0, -1);
  }

  /** A variable that node was started with. */
  nodeVariable(name: string): string | undefined {
    const rows = readFileSync(join(this.folder, "environment"), "utf8").split("\0");
    return rows.find((row) => row.startsWith(`${name}=`))?.slice(name.length + 1);
  }

  async requiredPackages(): Promise<Record<string, string>[]> {
    const request = new language.GetRequiredPackagesRequest().setInfo(this.info({}));
    const reply = await this.call<language.GetRequiredPackagesResponse>((done) =>
      this.client.getRequiredPackages(request, done),
    ).reply;
    return reply.getPackagesList().map((one) => ({
      kind: one.getKind(),
      name: one.getName(),
      version: one.getVersion(),
      server: one.getServer(),
    }));
  }

  run(given: RunOptions = {}): Running {
    const request = new language.RunRequest();
    request.setInfo(this.info(given.options ?? {}));
    request.setProject("project").setStack("stack").setOrganization("organization").setParallel(4);
    request.setMonitorAddress("monitor:1").setArgsList(["an argument"]);
    request.setDryrun(given.preview ?? false).setAttachDebugger(given.debugger ?? false);
    for (const [key, value] of Object.entries(given.config ?? {})) request.getConfigMap().set(key, value);
    request.setConfigsecretkeysList([...(given.secretKeys ?? [])]);
    const { reply, cancel } = this.call<language.RunResponse>((done) => this.client.run(request, done));
    return { cancel, ended: reply.then((one) => ({ error: one.getError(), bail: one.getBail() })) };
  }

  async cancel(): Promise<void> {
    await this.call((done) => this.client.cancel(new Empty() as never, done)).reply;
  }

  async handshake(engineAddress: string): Promise<void> {
    const request = new language.LanguageHandshakeRequest().setEngineAddress(engineAddress);
    await this.call((done) => this.client.handshake(request, done)).reply;
  }

  async version(): Promise<string> {
    const call = this.call<PluginInfo>((done) => this.client.getPluginInfo(new Empty() as never, done));
    return (await call.reply).getVersion();
  }

  /** Calls a method that is not covered. */
  async about(): Promise<void> {
    await this.call((done) => this.client.about(new language.AboutRequest(), done)).reply;
  }

  private info(options: Record<string, unknown>): language.ProgramInfo {
    return new language.ProgramInfo()
      .setRootDirectory(this.folder)
      .setProgramDirectory(this.program)
      .setEntryPoint(".")
      .setOptions(Struct.fromJavaScript(options as never) as never);
  }

  private call<Reply>(send: (done: requestCallback<Reply>) => unknown): {
    reply: Promise<Reply>;
    cancel(): void;
  } {
    let sent: ClientUnaryCall | undefined;
    const reply = new Promise<Reply>((resolve, reject) => {
      sent = send((error: ServiceError | null, value?: Reply) => {
        if (error) reject(new Error(error.details));
        else resolve(value as Reply);
      }) as ClientUnaryCall;
    });
    return { reply, cancel: () => sent?.cancel() };
  }
}
