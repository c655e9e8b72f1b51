import { CommandProvider, secret } from "./command-provider";
import { Sshd } from "./sshd";
import { TcpRelay } from "./tcp-relay";

/** A real sshd, a relay before it that counts connections, and the command provider's stand-in. */
export class CommandFixture {
  sshd!: Sshd;
  relay!: TcpRelay;
  provider!: CommandProvider;
  private readonly ends: (() => Promise<unknown>)[] = [];

  /** Brings all up before the tests of the group in which it is called, and down afterwards, whatever happens. */
  static inGroup(): CommandFixture {
    const fixture = new CommandFixture();
    beforeAll(async () => {
      fixture.sshd = await Sshd.start(["ACCEPTED", "PULUMI_COMMAND_STDOUT"]);
      fixture.relay = await TcpRelay.start(fixture.sshd.port);
      fixture.provider = await CommandProvider.start();
    });
    afterEach(async () => {
      for (const end of fixture.ends.splice(0)) await end();
    });
    afterAll(async () => {
      // The provider goes first: with its connections the server's sessions end.
      await Promise.resolve(fixture.provider?.stop());
      await Promise.resolve(fixture.relay?.stop());
      await Promise.resolve(fixture.sshd?.remove());
    });
    return fixture;
  }

  /** A thing of one test's own. @param end is called after the test, whether it passes or not */
  keep<Thing>(thing: Thing, end: (thing: Thing) => Promise<unknown>): Thing {
    this.ends.push(() => end(thing));
    return thing;
  }

  /** A connection to the host by way of the relay. */
  connection(changes: Record<string, unknown> = {}): Record<string, unknown> {
    return secret(this.sshd.connection({ port: this.relay.port, ...changes }));
  }

  /** Create a remote.Command. */
  run(create: string, more: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    return this.provider.create({ connection: this.connection(), create, ...more });
  }

  /** What the provider told the engine during the work: "severity: text". */
  async messagesOf(work: () => Promise<unknown>): Promise<string[]> {
    const before = this.provider.messages.length;
    await work();
    return this.provider.messages.slice(before).map(({ severity, text }) => `${severity}: ${text}`);
  }

  /** How many connections came during the work. */
  async connectionsOf(work: () => Promise<unknown>): Promise<number> {
    const before = this.relay.connections;
    await work();
    return this.relay.connections - before;
  }
}

/** The message that the work fails with. @throws when it does not fail */
export async function errorOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("it succeeded");
}
