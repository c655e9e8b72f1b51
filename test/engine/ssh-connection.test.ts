import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFixture, errorOf } from "./support/command-fixture";
import { CommandProvider, secret } from "./support/command-provider";
import { describeWith } from "./support/requirement";
import { freePort, SSHD, Sshd, sshdMissing, sshProgram } from "./support/sshd";
import { standInsMissing } from "./support/stand-ins";
import { TcpRelay } from "./support/tcp-relay";
import { until } from "./support/until";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

describeWith(standInsMissing() ?? sshdMissing(), "SSH connections of the command provider's stand-in", () => {
  const fixture = CommandFixture.inGroup();

  describe("dialling", () => {
    test("dialErrorLimit 3 makes four attempts, waiting 100 ms and then half as long again each time", async () => {
      const closing = fixture.keep(await TcpRelay.start(undefined), (relay) => relay.stop());
      const target = secret(fixture.sshd.connection({ port: closing.port, dialErrorLimit: 3 }));
      const messages = await fixture.messagesOf(async () => {
        const error = await errorOf(fixture.provider.create({ connection: target, create: "true" }));
        expect(error).toMatch(/^after 3 failed attempts: ssh: handshake failed: /);
      });

      expect(messages).toEqual([1, 2, 3].map((n) => `info: Dial ${n}/3 failed: retrying`));
      const waits = closing.arrivals.slice(1).map((time, n) => time - (closing.arrivals[n] ?? NaN));
      expect(waits).toHaveLength(3);
      // Timers may fire a millisecond early.
      waits.forEach((wait, n) => expect(wait).toBeGreaterThanOrEqual(100 * 1.5 ** n - 2));
      expect(waits[0]).toBeLessThan(500);
    });

    test("dialErrorLimit 0 makes one attempt", async () => {
      const port = await freePort();
      const error = await errorOf(fixture.run("true", { connection: fixture.connection({ port }) }));
      expect(error).toBe(`after 0 failed attempts: dial tcp 127.0.0.1:${port}: connect: connection refused`);
    });

    test("dialErrorLimit -1 goes on until the host answers", async () => {
      const late = fixture.keep(await Sshd.start(), (sshd) => sshd.remove());
      await late.stop();
      const messages = await fixture.messagesOf(async () => {
        const running = fixture.provider.create({
          connection: secret(late.connection({ dialErrorLimit: -1 })),
          create: "echo up",
        });
        await new Promise((resolve) => setTimeout(resolve, 150));
        await late.resume();
        expect((await running).stdout).toBe("up");
      });
      expect(messages[0]).toBe("info: Dial 1/inf failed: retrying");
    });

    test("customTimeouts end the dialling", async () => {
      const port = await freePort();
      const endless = fixture.connection({ port, dialErrorLimit: -1 });
      const started = Date.now();
      const error = await errorOf(
        fixture.provider.create({ connection: endless, create: "true" }, { timeout: 1 }),
      );
      expect(error).toBe("context deadline exceeded");
      expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
      expect(Date.now() - started).toBeLessThan(2500);
    });

    test("customTimeouts do not interrupt a command that runs", async () => {
      const create = "sleep 1.2; echo done";
      const state = await fixture.provider.create(
        { connection: fixture.connection(), create },
        { timeout: 1 },
      );
      expect(state.stdout).toBe("done");
    });

    test("a cancelled run stops dialling", async () => {
      const other = fixture.keep(await CommandProvider.start(), (provider) => provider.stop());
      const endless = secret(fixture.sshd.connection({ port: await freePort(), dialErrorLimit: -1 }));
      const dialling = errorOf(other.create({ connection: endless, create: "true" }));
      await other.cancel();
      expect(await dialling).toBe("context canceled");
    });

    test("one connection an operation, which stays open until the provider ends", async () => {
      const other = fixture.keep(await CommandProvider.start(), (provider) => provider.stop());
      const relay = fixture.keep(await TcpRelay.start(fixture.sshd.port), (one) => one.stop());
      const connection = fixture.connection({ port: relay.port });
      const state = await other.create({ connection, create: "true", delete: "true" });
      await other.update(state, { ...state, create: "true # again" });
      await other.delete(state);
      expect([relay.connections, relay.openConnections]).toEqual([3, 3]);

      expect(await other.stop()).toBe(0);
      await until(() => relay.openConnections === 0);
    });

    test("an idle connection is probed after fifteen seconds", async () => {
      await fixture.run("true");
      // Of a connection: remote address, state "established", timer "keepalive" and when it fires, in hundredths of a second.
      const port = fixture.relay.port.toString(16).toUpperCase().padStart(4, "0");
      const row = new RegExp(` 0100007F:${port} 01 \\S+ 02:([0-9A-F]+) `, "g");
      const timers = [...readFileSync("/proc/net/tcp", "utf8").matchAll(row)];
      expect(timers.length).toBeGreaterThan(0);
      for (const [, when] of timers) expect(parseInt(when ?? "", 16)).toBeLessThanOrEqual(1500);
    });

    test("by way of a proxy", async () => {
      const connections = await fixture.connectionsOf(async () => {
        const proxy = fixture.sshd.connection({ port: fixture.relay.port });
        const state = await fixture.run("echo through", {
          connection: secret(fixture.sshd.connection({ proxy })),
        });
        expect(state.stdout).toBe("through");
      });
      expect(connections).toBe(1);
    });

    test("an error on the way to a proxy says so", async () => {
      const port = await freePort();
      const proxy = fixture.sshd.connection({ port });
      const error = await errorOf(
        fixture.run("true", { connection: secret(fixture.sshd.connection({ proxy })) }),
      );
      expect(error).toMatch(/^proxy: after 0 failed attempts: dial tcp .*: connect: connection refused$/);
    });
  });

  describe("keys", () => {
    test("another host key than the connection's is refused", async () => {
      const stranger = fixture.keep(await Sshd.start(), (sshd) => sshd.remove());
      const error = await errorOf(
        fixture.run("true", { connection: fixture.connection({ hostKey: stranger.hostKey }) }),
      );
      expect(error).toBe("after 0 failed attempts: ssh: handshake failed: ssh: host key mismatch");
    });

    test("without a host key in the connection any host is accepted", async () => {
      expect(
        (await fixture.run("echo in", { connection: fixture.connection({ hostKey: null }) })).stdout,
      ).toBe("in");
    });

    test("a host key that is none is refused before any dial", async () => {
      const connections = await fixture.connectionsOf(async () => {
        const error = await errorOf(
          fixture.run("true", { connection: fixture.connection({ hostKey: "ssh-ed25519 xyz" }) }),
        );
        expect(error).toMatch(/^failed to parse host key: ssh: no key found/);
      });
      expect(connections).toBe(0);
    });

    test("a user key that the host does not know is refused", async () => {
      const stranger = fixture.keep(await Sshd.start(), (sshd) => sshd.remove());
      const error = await errorOf(
        fixture.run("true", { connection: fixture.connection({ privateKey: stranger.privateKey }) }),
      );
      expect(error).toMatch(/ssh: unable to authenticate, attempted methods \[none publickey\]/);
    });

    test("an encrypted key opens with its password, and with no other", async () => {
      const file = join(fixture.sshd.folder, "encrypted_key");
      writeFileSync(file, fixture.sshd.privateKey, { mode: 0o600 });
      sshProgram("ssh-keygen", "-q", "-p", "-P", "", "-N", "a password", "-f", file);
      const run = (privateKeyPassword: string | null) => {
        const privateKey = readFileSync(file, "utf8");
        return fixture.run("echo in", { connection: fixture.connection({ privateKey, privateKeyPassword }) });
      };
      expect((await run("a password")).stdout).toBe("in");
      const connections = await fixture.connectionsOf(async () => {
        expect(await errorOf(run("another"))).toMatch(/decryption password incorrect/);
        expect(await errorOf(run(null))).toBe("ssh: this private key is passphrase protected");
      });
      expect(connections).toBe(0);
    });

    test("a key of the SSH agent opens", async () => {
      const socket = join(fixture.sshd.folder, "agent");
      const agent = sshProgram("ssh-agent", "-a", socket);
      const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(agent)?.[1]);
      fixture.keep(pid, async (id) => void process.kill(id));
      const key = join(fixture.sshd.folder, "client_key");
      execFileSync("env", [`SSH_AUTH_SOCK=${socket}`, SSHD, "client", "ssh-add", "-q", key]);
      const connection = fixture.connection({ privateKey: null, agentSocketPath: socket });
      expect((await fixture.run("echo in", { connection })).stdout).toBe("in");
    });

    test("an SSH agent that does not answer is an error even beside a private key", async () => {
      const other = fixture.keep(
        await CommandProvider.start({ SSH_AUTH_SOCK: join(fixture.sshd.folder, "no-agent") }),
        (provider) => provider.stop(),
      );
      const error = await errorOf(other.create({ connection: fixture.connection(), create: "true" }));
      expect(error).toMatch(/^dial unix .*no-agent: /);
    });
  });
});
