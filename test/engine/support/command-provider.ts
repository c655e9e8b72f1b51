import type { requestCallback, ServiceError } from "@grpc/grpc-js";
import { EngineService } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogSeverity, type LogRequest } from "@pulumi/pulumi/proto/engine_pb";
import type { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import * as provider from "@pulumi/pulumi/proto/provider_pb";
import { Empty, grpc, PluginProcess, Struct } from "./plugin-process";
import { standIns } from "./stand-ins";

type Values = Record<string, unknown>;

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** A message of the provider's to the engine. */
export interface Message {
  readonly severity: "debug" | "info" | "warning" | "error";
  readonly text: string;
  /** Shown only while the resource is worked on. */
  readonly ephemeral: boolean;
}

export interface OperationOptions {
  /** A type of the command provider; `remote:Command` if not given. */
  readonly type?: "remote:Command" | "remote:CopyToRemote" | "local:Command";
  readonly preview?: boolean;
  /** customTimeouts, in seconds. */
  readonly timeout?: number;
}

/** The command provider's stand-in as a process, spoken to as the engine does. */
export class CommandProvider {
  private constructor(
    private readonly plugin: PluginProcess,
    private readonly stopEngine: () => void,
    /** What it told the engine, oldest first. */
    readonly messages: readonly Message[],
  ) {}

  private get client() {
    return this.plugin.client;
  }

  static async start(environment: NodeJS.ProcessEnv = {}): Promise<CommandProvider> {
    const messages: Message[] = [];
    const engine = new grpc.Server();
    engine.addService(EngineService as never, {
      log: logInto(messages),
      getRootResource: unused,
      setRootResource: unused,
    });
    const enginePort = await listen(engine);
    const inherited = { ...process.env };
    delete inherited.SSH_AUTH_SOCK;
    const plugin = await PluginProcess.start(standIns().commandProvider, [`127.0.0.1:${enginePort}`], {
      ...inherited,
      ...environment,
    });
    return new CommandProvider(
      plugin,
      () => {
        engine.forceShutdown();
      },
      messages,
    );
  }

  /** Ends the process; its exit code. */
  stop(): Promise<number | null> {
    this.stopEngine();
    return this.plugin.stop();
  }

  /** The inputs with defaults filled in, and what is wrong with them: "property: reason". */
  async check(
    inputs: Values,
    options: OperationOptions = {},
  ): Promise<{ inputs: Values; failures: string[] }> {
    const request = new provider.CheckRequest();
    request.setUrn(urn(options)).setNews(struct(inputs));
    const reply = await this.call<provider.CheckResponse>((done) => this.client.check(request, done));
    const failures = reply.getFailuresList().map((f) => `${f.getProperty()}: ${f.getReason()}`);
    return { inputs: values(reply.getInputs()), failures };
  }

  /** Path to kind, such as `{ stdin: "UPDATE" }`. */
  async diff(olds: Values, news: Values): Promise<Record<string, string>> {
    const request = new provider.DiffRequest();
    request.setUrn(urn({})).setOldInputs(struct(olds)).setNews(struct(news));
    const reply = await this.call<provider.DiffResponse>((done) => this.client.diff(request, done));
    const kinds = Object.entries(provider.PropertyDiff.Kind);
    const name = (kind: number) => kinds.find(([, value]) => value === kind)?.[0] ?? String(kind);
    const kindOf: Record<string, string> = {};
    reply.getDetaileddiffMap().forEach((difference, path) => {
      kindOf[path] = name(difference.getKind());
    });
    return kindOf;
  }

  /** The new resource's properties, its inputs among them. */
  async create(inputs: Values, options: OperationOptions = {}): Promise<Values> {
    const request = new provider.CreateRequest();
    request.setUrn(urn(options)).setProperties(struct(inputs));
    request.setTimeout(options.timeout ?? 0).setPreview(options.preview ?? false);
    const reply = await this.call<provider.CreateResponse>((done) => this.client.create(request, done));
    return values(reply.getProperties());
  }

  async update(state: Values, inputs: Values, options: OperationOptions = {}): Promise<Values> {
    const request = new provider.UpdateRequest();
    request.setUrn(urn(options)).setOlds(struct(state)).setNews(struct(inputs));
    request.setTimeout(options.timeout ?? 0).setPreview(options.preview ?? false);
    const reply = await this.call<provider.UpdateResponse>((done) => this.client.update(request, done));
    return values(reply.getProperties());
  }

  async delete(state: Values, options: OperationOptions = {}): Promise<void> {
    const request = new provider.DeleteRequest();
    request
      .setUrn(urn(options))
      .setProperties(struct(state))
      .setTimeout(options.timeout ?? 0);
    await this.call((done) => this.client.delete(request, done));
  }

  /** What it says of itself. */
  async describe(): Promise<{ version: string; schema: unknown }> {
    const info = await this.call<PluginInfo>((done) => this.client.getPluginInfo(new Empty() as never, done));
    const request = new provider.GetSchemaRequest();
    const reply = await this.call<provider.GetSchemaResponse>((done) => this.client.getSchema(request, done));
    return { version: info.getVersion(), schema: JSON.parse(reply.getSchema()) };
  }

  /** Calls a method that is not covered. */
  async invoke(): Promise<void> {
    await this.call((done) => this.client.invoke(new provider.InvokeRequest(), done));
  }

  async cancel(): Promise<void> {
    await this.call((done) => this.client.cancel(new Empty() as never, done));
  }

  private async call<Reply>(send: (done: requestCallback<Reply>) => unknown): Promise<Reply> {
    return new Promise((resolve, reject) => {
      send((error: ServiceError | null, reply?: Reply) => {
        if (error) reject(new Error(error.details));
        else resolve(reply as Reply);
      });
    });
  }
}

/** A value as a secret input. */
export const secret = (value: unknown): Values => ({ [SIGNATURE]: SECRET, value });

function urn({ type = "remote:Command" }: OperationOptions): string {
  return `urn:pulumi:test::engine::proxmox-gpu-stack:index:Parent$command:${type}::step`;
}

const struct = (object: Values) => Struct.fromJavaScript(object as never) as never;
const values = (from: { toJavaScript(): unknown } | undefined) => (from?.toJavaScript() ?? {}) as Values;

type Handler = (call: { request: LogRequest }, callback: (error: null, reply: unknown) => void) => void;

function logInto(messages: Message[]): Handler {
  const names = {
    [LogSeverity.DEBUG]: "debug",
    [LogSeverity.INFO]: "info",
    [LogSeverity.WARNING]: "warning",
    [LogSeverity.ERROR]: "error",
  } as const;
  return ({ request }, callback) => {
    messages.push({
      severity: names[request.getSeverity() as keyof typeof names],
      text: request.getMessage(),
      ephemeral: request.getEphemeral(),
    });
    callback(null, new Empty());
  };
}

const unused: Handler = (_call, callback) => callback(null, new Empty());

function listen(server: InstanceType<typeof grpc.Server>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}
