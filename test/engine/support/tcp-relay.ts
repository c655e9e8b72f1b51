import { connect, createServer, type Server, type Socket } from "node:net";

/** Passes TCP connections on to a loopback port, and counts them. */
export class TcpRelay {
  /** When each connection came, in milliseconds since the epoch. */
  readonly arrivals: number[] = [];
  private readonly open = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** @param target the port to pass connections on to; without one they are closed at once. */
  static start(target: number | undefined): Promise<TcpRelay> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.on("error", reject);
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        const relay = new TcpRelay(server, typeof address === "object" && address ? address.port : 0);
        server.on("connection", (socket) => {
          relay.arrivals.push(Date.now());
          if (target === undefined) socket.destroy();
          else relay.pass(socket, target);
        });
        resolve(relay);
      });
    });
  }

  get connections(): number {
    return this.arrivals.length;
  }

  get openConnections(): number {
    return this.open.size;
  }

  /** Cut all connections, as a lost network does. */
  cut(): void {
    for (const socket of this.open) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(socket: Socket, target: number): void {
    const onward = connect(target, "127.0.0.1");
    this.open.add(socket);
    socket.on("close", () => {
      this.open.delete(socket);
      onward.destroy();
    });
    onward.on("close", () => socket.destroy());
    socket.on("error", () => undefined);
    onward.on("error", () => undefined);
    socket.pipe(onward).pipe(socket);
  }
}
