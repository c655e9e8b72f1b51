import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";

// What the SDK itself uses, so that its classes fit.
const sdk = createRequire(require.resolve("@pulumi/pulumi/package.json"));
export const grpc = sdk("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
export const { Empty } = sdk("google-protobuf/google/protobuf/empty_pb") as {
  Empty: typeof import("google-protobuf/google/protobuf/empty_pb").Empty;
};
export const { Struct } = sdk("google-protobuf/google/protobuf/struct_pb") as {
  Struct: typeof import("google-protobuf/google/protobuf/struct_pb").Struct;
};

/** A provider's plugin as a process, started as the engine starts it. */
export class PluginProcess {
  private constructor(
    private readonly child: ChildProcess,
    /** Where it serves. */
    readonly address: string,
    readonly client: ResourceProviderClient,
  ) {}

  static async start(
    program: string,
    args: string[],
    environment: NodeJS.ProcessEnv,
  ): Promise<PluginProcess> {
    const child = spawn(program, args, { env: environment, stdio: ["pipe", "pipe", "inherit"] });
    const [port] = (await once(createInterface(child.stdout), "line")) as [string];
    const options = { "grpc.max_receive_message_length": -1 };
    const credentials = grpc.credentials.createInsecure();
    const address = `127.0.0.1:${port}`;
    return new PluginProcess(
      child,
      address,
      new ResourceProviderClient(address, credentials as never, options),
    );
  }

  /** Closes its standard input, as the death of the engine does; its exit code. */
  async orphan(): Promise<number | null> {
    this.child.stdin?.end();
    const [code] = (await once(this.child, "exit")) as [number | null];
    return code;
  }

  /** Ends it as the engine does; its exit code. */
  async stop(): Promise<number | null> {
    this.client.close();
    if (this.child.exitCode !== null) return this.child.exitCode;
    this.child.kill("SIGINT");
    const [code] = (await once(this.child, "exit")) as [number | null];
    return code;
  }
}
