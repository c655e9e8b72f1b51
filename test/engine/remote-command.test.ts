import { dependencies } from "../../package.json";
import { CommandFixture, errorOf } from "./support/command-fixture";
import { secret, UNKNOWN } from "./support/command-provider";
import { describeWith } from "./support/requirement";
import { sshdMissing } from "./support/sshd";
import { standInsMissing } from "./support/stand-ins";
import { until } from "./support/until";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

describeWith(standInsMissing() ?? sshdMissing(), "remote.Command of the command provider's stand-in", () => {
  const fixture = CommandFixture.inGroup();

  describe("running a command", () => {
    test("standard input arrives as it is", async () => {
      const stdin = "línea 1\n\n$HOME \"quoted\" 'too'\nno newline at the end";
      const state = await fixture.run("cat", { stdin });
      expect(state.stdout).toBe(stdin);
    });

    test("without standard input the command reads an end at once", async () => {
      expect((await fixture.run("cat; echo after")).stdout).toBe("after");
    });

    test("standard input that the command does not read is no error where the server has taken it", async () => {
      const command = "sleep 0.5; echo done";
      expect((await fixture.run(command, { stdin: "x".repeat(1 << 20) })).stdout).toBe("done");
    });

    test("a command that ends before the server has taken its standard input fails, as the SSH library says", async () => {
      // OpenSSH holds two megabytes that nobody reads.
      const error = await errorOf(fixture.run("echo done", { stdin: "x".repeat(4 << 20) }));
      expect(error).toBe('EOF: running "echo done":\ndone\n');
    });

    test("output that is no UTF-8 is kept with marks for what is none", async () => {
      expect((await fixture.run("printf 'a\\377b'")).stdout).toBe("a\ufffdb");
      expect(await errorOf(fixture.run("printf 'a\\377b'; exit 1"))).toMatch(/:\na\ufffdb$/);
    });

    test("exactly one trailing newline is removed, from each output", async () => {
      const state = await fixture.run(`printf 'a\\n\\n'; printf 'b\\r\\n\\n\\n' >&2`);
      expect(state).toMatchObject({ stdout: "a\n", stderr: "b\r\n\n" });
    });

    test("outputs come with the inputs", async () => {
      expect(await fixture.run("echo x", { triggers: ["t"], logging: "none" })).toMatchObject({
        create: "echo x",
        triggers: ["t"],
        logging: "none",
        stdout: "x",
        stderr: "",
      });
    });

    test("an error repeats the command and all output", async () => {
      const command = "echo one; echo two >&2; exit 3";
      const error = await errorOf(fixture.run(command));
      expect(error.split(":\n")[0]).toBe(`Process exited with status 3: running "${command}"`);
      expect(error.split(":\n")[1]?.split("\n").sort()).toEqual(["", "one", "two"]);
    });

    test("a command that is killed fails, naming the signal", async () => {
      expect(await errorOf(fixture.run("kill -TERM $$"))).toMatch(
        /^Process exited with status 143 from signal TERM: /,
      );
    });

    test("a connection that breaks fails the command, with the output so far", async () => {
      const command = "echo begun; exec sleep 2";
      const running = errorOf(fixture.run(command));
      await until(() => fixture.provider.messages.some(({ text }) => text === "begun"));
      fixture.relay.cut();
      expect(await running).toBe(
        `wait: remote command exited without exit status or exit signal: running "${command}":\nbegun\n`,
      );
    });

    test("output is shown line by line, as logging says", async () => {
      const command = "echo out; echo err >&2; printf rest";
      expect(await fixture.messagesOf(() => fixture.run(command, { logging: "stdout" }))).toEqual([
        "info: out",
        "info: rest",
      ]);
      expect(await fixture.messagesOf(() => fixture.run(command, { logging: "stderr" }))).toEqual([
        "info: err",
      ]);
      expect(await fixture.messagesOf(() => fixture.run(command, { logging: "none" }))).toEqual([]);
      // Which of the two streams the server sends first is its own affair.
      const both = await fixture.messagesOf(() => fixture.run("echo out; echo err >&2"));
      expect(both.sort()).toEqual(["info: err", "info: out"]);
    });

    test("a logged line of 64 KiB, at which the official provider hangs, is an error that says so", async () => {
      const command = "head -c 65536 /dev/zero | tr '\\0' x";
      expect(await errorOf(fixture.run(command))).toMatch(
        /a logged line is 65536 bytes or longer.*logging: "none"/,
      );
      expect((await fixture.run(command, { logging: "none" })).stdout).toHaveLength(65536);
      expect((await fixture.run("head -c 65535 /dev/zero | tr '\\0' x")).stdout).toHaveLength(65535);
    });
  });

  describe("environment", () => {
    test("a variable that the server accepts arrives", async () => {
      expect((await fixture.run('echo "$ACCEPTED"', { environment: { ACCEPTED: "a b" } })).stdout).toBe(
        "a b",
      );
    });

    test("a variable that the server refuses is an error, and the command does not run", async () => {
      const messages = await fixture.messagesOf(async () => {
        const command = `touch ${fixture.sshd.folder}/ran`;
        const environment = { ACCEPTED: "a", REFUSED: "b" };
        const error = await errorOf(fixture.run(command, { environment }));
        expect(error).toBe('could not set environment variable "REFUSED": ssh: setenv failed');
      });
      expect(messages).toEqual([expect.stringMatching(/^error: Unable to set 'REFUSED'\..*AcceptEnv/)]);
      expect(fixture.sshd.has("ran")).toBe(false);
    });

    test("the previous output goes along; a part that the server refuses is a warning only", async () => {
      const state = await fixture.run("echo before; echo trouble >&2");
      const messages = await fixture.messagesOf(async () => {
        const next = await fixture.provider.update(state, {
          ...state,
          create: 'echo "[$PULUMI_COMMAND_STDOUT][$PULUMI_COMMAND_STDERR]"',
          logging: "none",
        });
        expect(next.stdout).toBe("[before][]");
      });
      expect(messages).toEqual([expect.stringMatching(/^warning: Unable to set 'PULUMI_COMMAND_STDERR'/)]);
    });

    test("addPreviousOutputInEnv: false keeps the previous output away", async () => {
      const state = await fixture.run("echo before; echo trouble >&2");
      const create = 'echo "[$PULUMI_COMMAND_STDOUT]"';
      const inputs = { ...state, create, logging: "none", addPreviousOutputInEnv: false };
      const messages = await fixture.messagesOf(async () => {
        expect((await fixture.provider.update(state, inputs)).stdout).toBe("[]");
      });
      expect(messages).toEqual([]);
    });
  });

  describe("life of a resource", () => {
    test("a preview dials nothing and leaves the outputs open", async () => {
      const connections = await fixture.connectionsOf(async () => {
        const inputs = { connection: fixture.connection(), create: "echo x" };
        const planned = await fixture.provider.create(inputs, { preview: true });
        expect(planned).toMatchObject({ create: "echo x", stdout: UNKNOWN, stderr: UNKNOWN });
        expect(await fixture.provider.update(inputs, inputs, { preview: true })).toMatchObject({
          stdout: UNKNOWN,
        });
      });
      expect(connections).toBe(0);
    });

    test("an update runs `update`, and `create` again where there is none", async () => {
      const state = await fixture.run("echo created");
      expect((await fixture.provider.update(state, { ...state, update: "echo updated" })).stdout).toBe(
        "updated",
      );
      expect((await fixture.provider.update(state, { ...state, stdin: "new" })).stdout).toBe("created");
    });

    test("a delete uses the state's command and connection", async () => {
      const state = await fixture.run("true", { delete: `echo gone >>${fixture.sshd.folder}/deleted` });
      await fixture.provider.delete(state);
      expect(fixture.sshd.file("deleted")).toBe("gone\n");
    });

    test("without `delete` or `create` nothing is dialled", async () => {
      const connections = await fixture.connectionsOf(async () => {
        const state = await fixture.provider.create({ connection: fixture.connection() });
        expect(state).toMatchObject({ stdout: "", stderr: "" });
        await fixture.provider.delete(state);
      });
      expect(connections).toBe(0);
    });

    test("any changed input is an update, the connection as one secret", async () => {
      const olds = {
        connection: fixture.connection(),
        create: "a",
        environment: { A: "1", "b.c": "2" },
        stdin: "x",
      };
      expect(await fixture.provider.diff(olds, olds)).toEqual({});
      expect(
        await fixture.provider.diff(olds, {
          connection: fixture.connection({ port: 1 }),
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
      const olds = { connection: fixture.connection(), triggers: ["a"] };
      expect(await fixture.provider.diff(olds, { connection: fixture.connection() })).toEqual({
        triggers: "DELETE_REPLACE",
      });
      expect(await fixture.provider.diff(olds, { ...olds, triggers: ["b"] })).toEqual({
        "triggers[0]": "UPDATE",
      });
    });
  });

  describe("checking inputs", () => {
    test("a connection gets its defaults and becomes secret", async () => {
      const { inputs, failures } = await fixture.provider.check({
        connection: { host: "h", proxy: { host: "p" } },
      });
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
      expect((await fixture.provider.check(inputs)).failures).toEqual(failures);
    });

    test("the version is that of the SDK", async () => {
      const version = dependencies["@pulumi/command"];
      expect(await fixture.provider.describe()).toEqual({ version, schema: { name: "command", version } });
    });

    test("a method that the stand-in does not cover is named", async () => {
      expect(await errorOf(fixture.provider.invoke())).toBe("stand-in: Invoke is not covered");
    });

    test("a resource that the stand-in does not cover is named", async () => {
      expect(await errorOf(fixture.provider.check({}, { type: "local:Command" }))).toBe(
        "stand-in: command:local:Command is not covered",
      );
    });
  });
});
