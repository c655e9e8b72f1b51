import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandProvider, UNKNOWN, secret } from "./support/command-provider";
import { describeWith } from "./support/requirement";
import { freePort, Sshd, sshdMissing } from "./support/sshd";
import { TcpRelay } from "./support/tcp-relay";

describeWith(sshdMissing(), "the command provider's stand-in", () => {
  let sshd: Sshd;
  let relay: TcpRelay;
  let provider: CommandProvider;

  beforeAll(async () => {
    sshd = await Sshd.start(["ACCEPTED", "PULUMI_COMMAND_STDOUT"]);
    relay = await TcpRelay.start(sshd.port);
    provider = await CommandProvider.start();
  });

  afterAll(async () => {
    await provider.stop();
    await relay.stop();
    await sshd.remove();
  });

  /** A connection to the test's host, counted by the relay. */
  const connection = (changes: Record<string, unknown> = {}) =>
    secret(sshd.connection({ port: relay.port, ...changes }));

  const run = (create: string, more: Record<string, unknown> = {}) =>
    provider.create({ connection: connection(), create, ...more });

  const errorOf = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error("it succeeded");
  };

  /** What the provider told the engine during the work: "severity: text". */
  const messagesOf = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = provider.messages.length;
    await work();
    return provider.messages.slice(before).map(({ severity, text }) => `${severity}: ${text}`);
  };

  const connectionsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = relay.connections;
    await work();
    return relay.connections - before;
  };

  describe("dialling", () => {
    test("dialErrorLimit 3 makes four attempts, waiting 100 ms and then half as long again each time", async () => {
      const closing = await TcpRelay.start(undefined);
      const target = secret(sshd.connection({ port: closing.port, dialErrorLimit: 3 }));
      const messages = await messagesOf(async () => {
        const error = await errorOf(provider.create({ connection: target, create: "true" }));
        expect(error).toMatch(/^after 3 failed attempts: ssh: handshake failed: /);
      });
      await closing.stop();

      expect(messages).toEqual([1, 2, 3].map((n) => `info: Dial ${n}/3 failed: retrying`));
      const waits = closing.arrivals.slice(1).map((time, n) => time - (closing.arrivals[n] ?? NaN));
      expect(waits).toHaveLength(3);
      // Timers may fire a millisecond early.
      waits.forEach((wait, n) => expect(wait).toBeGreaterThanOrEqual(100 * 1.5 ** n - 2));
      expect(waits[0]).toBeLessThan(500);
    });

    test("dialErrorLimit 0 makes one attempt", async () => {
      const port = await freePort();
      const error = await errorOf(run("true", { connection: connection({ port }) }));
      expect(error).toBe(`after 0 failed attempts: dial tcp 127.0.0.1:${port}: connect: connection refused`);
    });

    test("dialErrorLimit -1 goes on until the host answers", async () => {
      const late = await Sshd.start();
      await late.stop();
      const messages = await messagesOf(async () => {
        const running = provider.create({
          connection: secret(late.connection({ dialErrorLimit: -1 })),
          create: "echo up",
        });
        await new Promise((resolve) => setTimeout(resolve, 150));
        await late.resume();
        expect((await running).stdout).toBe("up");
      });
      await late.remove();
      expect(messages[0]).toBe("info: Dial 1/inf failed: retrying");
    });

    test("customTimeouts end the dialling", async () => {
      const port = await freePort();
      const endless = connection({ port, dialErrorLimit: -1 });
      const started = Date.now();
      const error = await errorOf(provider.create({ connection: endless, create: "true" }, { timeout: 1 }));
      expect(error).toBe("context deadline exceeded");
      expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
      expect(Date.now() - started).toBeLessThan(2500);
    });

    test("customTimeouts do not interrupt a command that runs", async () => {
      const create = "sleep 1.2; echo done";
      const state = await provider.create({ connection: connection(), create }, { timeout: 1 });
      expect(state.stdout).toBe("done");
    });

    test("a cancelled run stops dialling", async () => {
      const other = await CommandProvider.start();
      const endless = secret(sshd.connection({ port: await freePort(), dialErrorLimit: -1 }));
      const dialling = errorOf(other.create({ connection: endless, create: "true" }));
      await other.cancel();
      expect(await dialling).toBe("context canceled");
      await other.stop();
    });

    test("one connection an operation, which stays open until the provider ends", async () => {
      const other = await CommandProvider.start();
      const [before, open] = [relay.connections, relay.openConnections];
      const state = await other.create({ connection: connection(), create: "true", delete: "true" });
      await other.update(state, { ...state, create: "true # again" });
      await other.delete(state);
      expect(relay.connections - before).toBe(3);
      expect(relay.openConnections - open).toBe(3);

      expect(await other.stop()).toBe(0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(relay.openConnections - open).toBe(0);
    });

    test("by way of a proxy", async () => {
      const connections = await connectionsOf(async () => {
        const proxy = sshd.connection({ port: relay.port });
        const state = await run("echo through", { connection: secret(sshd.connection({ proxy })) });
        expect(state.stdout).toBe("through");
      });
      expect(connections).toBe(1);
    });

    test("an error on the way to a proxy says so", async () => {
      const port = await freePort();
      const proxy = sshd.connection({ port });
      const error = await errorOf(run("true", { connection: secret(sshd.connection({ proxy })) }));
      expect(error).toMatch(/^proxy: after 0 failed attempts: dial tcp .*: connect: connection refused$/);
    });
  });

  describe("keys", () => {
    test("another host key than the connection's is refused", async () => {
      const stranger = await Sshd.start();
      const error = await errorOf(run("true", { connection: connection({ hostKey: stranger.hostKey }) }));
      await stranger.remove();
      expect(error).toBe("after 0 failed attempts: ssh: handshake failed: ssh: host key mismatch");
    });

    test("without a host key in the connection any host is accepted", async () => {
      expect((await run("echo in", { connection: connection({ hostKey: null }) })).stdout).toBe("in");
    });

    test("a host key that is none is refused before any dial", async () => {
      const connections = await connectionsOf(async () => {
        const error = await errorOf(run("true", { connection: connection({ hostKey: "ssh-ed25519 xyz" }) }));
        expect(error).toBe("failed to parse host key: ssh: no key found");
      });
      expect(connections).toBe(0);
    });

    test("a user key that the host does not know is refused", async () => {
      const stranger = await Sshd.start();
      const error = await errorOf(
        run("true", { connection: connection({ privateKey: stranger.privateKey }) }),
      );
      await stranger.remove();
      expect(error).toMatch(/ssh: unable to authenticate, attempted methods \[none publickey\]/);
    });

    test("an SSH agent that does not answer is an error even beside a private key", async () => {
      const other = await CommandProvider.start({ SSH_AUTH_SOCK: join(sshd.folder, "no-agent") });
      const error = await errorOf(other.create({ connection: connection(), create: "true" }));
      await other.stop();
      expect(error).toMatch(/^dial unix .*no-agent: /);
    });
  });

  describe("running a command", () => {
    test("standard input arrives as it is", async () => {
      const stdin = "línea 1\n\n$HOME \"quoted\" 'too'\nno newline at the end";
      const state = await run("cat", { stdin });
      expect(state.stdout).toBe(stdin);
    });

    test("without standard input the command reads an end at once", async () => {
      expect((await run("cat; echo after")).stdout).toBe("after");
    });

    test("a megabyte of standard input that the command does not read is no error", async () => {
      expect((await run("echo done", { stdin: "x".repeat(1 << 20) })).stdout).toBe("done");
    });

    test("exactly one trailing newline is removed, from each output", async () => {
      const state = await run(`printf 'a\\n\\n'; printf 'b\\r\\n\\n\\n' >&2`);
      expect(state).toMatchObject({ stdout: "a\n", stderr: "b\r\n\n" });
    });

    test("outputs come with the inputs", async () => {
      expect(await run("echo x", { triggers: ["t"], logging: "none" })).toMatchObject({
        create: "echo x",
        triggers: ["t"],
        logging: "none",
        stdout: "x",
        stderr: "",
      });
    });

    test("an error repeats the command and all output", async () => {
      const command = "echo one; echo two >&2; exit 3";
      const error = await errorOf(run(command));
      expect(error.split(":\n")[0]).toBe(`Process exited with status 3: running "${command}"`);
      expect(error.split(":\n")[1]?.split("\n").sort()).toEqual(["", "one", "two"]);
    });

    test("a command that is killed fails, naming the signal", async () => {
      expect(await errorOf(run("kill -TERM $$"))).toMatch(
        /^Process exited with status 143 from signal TERM: /,
      );
    });

    test("a connection that breaks fails the command, with the output so far", async () => {
      const command = `echo begun; touch ${sshd.folder}/begun; exec sleep 2`;
      const running = errorOf(run(command));
      while (!sshd.has("begun")) await new Promise((resolve) => setTimeout(resolve, 10));
      relay.cut();
      expect(await running).toBe(
        `wait: remote command exited without exit status or exit signal: running "${command}":\nbegun\n`,
      );
    });

    test("output is shown line by line, as logging says", async () => {
      const command = "echo out; echo err >&2; printf rest";
      expect(await messagesOf(() => run(command, { logging: "stdout" }))).toEqual([
        "info: out",
        "info: rest",
      ]);
      expect(await messagesOf(() => run(command, { logging: "stderr" }))).toEqual(["info: err"]);
      expect(await messagesOf(() => run(command, { logging: "none" }))).toEqual([]);
      // Which of the two streams the server sends first is its own affair.
      const both = await messagesOf(() => run("echo out; echo err >&2"));
      expect(both.sort()).toEqual(["info: err", "info: out"]);
    });

    test("a logged line of 64 KiB, at which the official provider hangs, is an error that says so", async () => {
      const command = "head -c 65536 /dev/zero | tr '\\0' x";
      expect(await errorOf(run(command))).toMatch(/a logged line is 65536 bytes or longer.*logging: "none"/);
      expect((await run(command, { logging: "none" })).stdout).toHaveLength(65536);
      expect((await run("head -c 65535 /dev/zero | tr '\\0' x")).stdout).toHaveLength(65535);
    });
  });

  describe("environment", () => {
    test("a variable that the server accepts arrives", async () => {
      expect((await run('echo "$ACCEPTED"', { environment: { ACCEPTED: "a b" } })).stdout).toBe("a b");
    });

    test("a variable that the server refuses is an error, and the command does not run", async () => {
      const messages = await messagesOf(async () => {
        const command = `touch ${sshd.folder}/ran`;
        const environment = { ACCEPTED: "a", REFUSED: "b" };
        const error = await errorOf(run(command, { environment }));
        expect(error).toBe('could not set environment variable "REFUSED": ssh: setenv failed');
      });
      expect(messages).toEqual([expect.stringMatching(/^error: Unable to set 'REFUSED'\..*AcceptEnv/)]);
      expect(sshd.has("ran")).toBe(false);
    });

    test("the previous output goes along; a part that the server refuses is a warning only", async () => {
      const state = await run("echo before; echo trouble >&2");
      const messages = await messagesOf(async () => {
        const next = await provider.update(state, {
          ...state,
          create: 'echo "[$PULUMI_COMMAND_STDOUT][$PULUMI_COMMAND_STDERR]"',
          logging: "none",
        });
        expect(next.stdout).toBe("[before][]");
      });
      expect(messages).toEqual([expect.stringMatching(/^warning: Unable to set 'PULUMI_COMMAND_STDERR'/)]);
    });

    test("addPreviousOutputInEnv: false keeps the previous output away", async () => {
      const state = await run("echo before; echo trouble >&2");
      const create = 'echo "[$PULUMI_COMMAND_STDOUT]"';
      const inputs = { ...state, create, logging: "none", addPreviousOutputInEnv: false };
      const messages = await messagesOf(async () => {
        expect((await provider.update(state, inputs)).stdout).toBe("[]");
      });
      expect(messages).toEqual([]);
    });
  });

  describe("life of a resource", () => {
    test("a preview dials nothing and leaves the outputs open", async () => {
      const connections = await connectionsOf(async () => {
        const inputs = { connection: connection(), create: "echo x" };
        const planned = await provider.create(inputs, { preview: true });
        expect(planned).toMatchObject({ create: "echo x", stdout: UNKNOWN, stderr: UNKNOWN });
        expect(await provider.update(inputs, inputs, { preview: true })).toMatchObject({ stdout: UNKNOWN });
      });
      expect(connections).toBe(0);
    });

    test("an update runs `update`, and `create` again where there is none", async () => {
      const state = await run("echo created");
      expect((await provider.update(state, { ...state, update: "echo updated" })).stdout).toBe("updated");
      expect((await provider.update(state, { ...state, stdin: "new" })).stdout).toBe("created");
    });

    test("a delete uses the state's command and connection", async () => {
      const state = await run("true", { delete: `echo gone >>${sshd.folder}/deleted` });
      await provider.delete(state);
      expect(sshd.file("deleted")).toBe("gone\n");
    });

    test("without `delete` or `create` nothing is dialled", async () => {
      const connections = await connectionsOf(async () => {
        const state = await provider.create({ connection: connection() });
        expect(state).toMatchObject({ stdout: "", stderr: "" });
        await provider.delete(state);
      });
      expect(connections).toBe(0);
    });

    test("any changed input is an update, the connection as one secret", async () => {
      const olds = { connection: connection(), create: "a", environment: { A: "1", "b.c": "2" }, stdin: "x" };
      expect(await provider.diff(olds, olds)).toEqual({});
      expect(
        await provider.diff(olds, {
          connection: connection({ port: 1 }),
          create: "a",
          environment: { A: "2" },
          logging: "none",
        }),
      ).toEqual({
        connection: "UPDATE",
        "environment.A": "UPDATE",
        'environment["b.c"]': "DELETE",
        logging: "ADD",
        stdin: "DELETE",
      });
    });

    test("a list of triggers that comes or goes replaces; for its elements the SDK asks", async () => {
      const olds = { connection: connection(), triggers: ["a"] };
      expect(await provider.diff(olds, { connection: connection() })).toEqual({ triggers: "DELETE_REPLACE" });
      expect(await provider.diff(olds, { ...olds, triggers: ["b"] })).toEqual({ "triggers[0]": "UPDATE" });
    });
  });

  describe("checking inputs", () => {
    test("a connection gets its defaults and becomes secret", async () => {
      const { inputs, failures } = await provider.check({ connection: { host: "h", proxy: { host: "p" } } });
      const defaults = { user: "root", port: 22, dialErrorLimit: 10, perDialTimeout: 15 };
      expect(failures).toEqual([]);
      expect(inputs.connection).toEqual(
        secret({ ...defaults, host: "h", proxy: { ...defaults, host: "p" } }),
      );
    });

    test.each([
      [{}, ["connection: Missing required field"]],
      [{ connection: {} }, ["connection: not a valid value"]],
      [{ connection: { host: "h" }, logging: "all" }, ["logging: not a valid value"]],
      [{ connection: { host: "h" }, creat: "x" }, ["creat: not covered by the stand-in"]],
      [{ connection: { host: UNKNOWN }, stdin: UNKNOWN }, []],
    ])("%j gives %j", async (inputs, failures) => {
      expect((await provider.check(inputs)).failures).toEqual(failures);
    });

    test("a resource that the stand-in does not cover is named", async () => {
      expect(await errorOf(provider.check({}, { type: "local:Command" }))).toBe(
        "stand-in: command:local:Command is not covered",
      );
    });
  });

  describe("CopyToRemote", () => {
    const type = "remote:CopyToRemote" as const;
    const SIGNATURE = "4dabf18193072939515e22adb298388d";
    const textAsset = (text: string) => ({
      [SIGNATURE]: "c44067f5952c0a294b673a41bacd8c17",
      text,
      hash: text,
    });
    const pathArchive = (path: string) => ({
      [SIGNATURE]: "0def7320c3a5731c473e5ecbe6d01bc7",
      path,
      hash: path,
    });
    const copy = (source: unknown, remotePath: string) =>
      provider.create(
        { connection: connection(), source, remotePath: join(sshd.folder, remotePath) },
        { type },
      );

    beforeAll(() => {
      mkdirSync(join(sshd.folder, "source/sub"), { recursive: true });
      writeFileSync(join(sshd.folder, "source/a"), "A");
      writeFileSync(join(sshd.folder, "source/sub/b"), "B");
    });

    test("a text becomes a file, with the folders above it", async () => {
      await copy(textAsset("hello"), "new/deep/text");
      expect(sshd.file("new/deep/text")).toBe("hello");
    });

    test("a text onto a folder is refused", async () => {
      expect(await errorOf(copy(textAsset("hello"), "source"))).toMatch(/is a directory; when using a text/);
    });

    test("a file goes to the path, or into a folder that is there", async () => {
      const file = pathArchive(join(sshd.folder, "source/a"));
      await copy(file, "copied");
      await copy(file, "new");
      expect([sshd.file("copied"), sshd.file("new/a")]).toEqual(["A", "A"]);
    });

    test("a folder goes below the path, with a trailing slash its content only", async () => {
      await copy(pathArchive(join(sshd.folder, "source")), "whole");
      await copy(pathArchive(join(sshd.folder, "source/")), "content");
      expect([sshd.file("whole/source/sub/b"), sshd.file("content/sub/b")]).toEqual(["B", "B"]);
    });

    test("an update copies only another source or to another path; a delete leaves the file", async () => {
      const state = await copy(textAsset("first"), "kept");
      writeFileSync(join(sshd.folder, "kept"), "changed by hand");
      await provider.update(state, { ...state, connection: connection({ perDialTimeout: 1 }) }, { type });
      expect(sshd.file("kept")).toBe("changed by hand");
      await provider.update(state, { ...state, source: textAsset("second") }, { type });
      await provider.delete(state, { type });
      expect(sshd.file("kept")).toBe("second");
    });

    test("its connection is closed at once", async () => {
      const open = relay.openConnections;
      await copy(textAsset("x"), "closed");
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(relay.openConnections).toBe(open);
    });
  });
});
