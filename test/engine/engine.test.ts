import { freePort, sshdMissing } from "./support/sshd";
import { CommandFixture } from "./support/command-fixture";
import { describeWith } from "./support/requirement";
import { standInsMissing } from "./support/stand-ins";
import { engineMissing, TestStack, type Program } from "./support/test-stack";

// An up takes a second or two, and several on a busy machine.
jest.setTimeout(120_000);

describeWith(
  engineMissing() ?? standInsMissing() ?? sshdMissing(),
  "the real engine with the stand-ins",
  () => {
    const fixture = CommandFixture.inGroup();
    let stack: TestStack;

    beforeAll(async () => (stack = await TestStack.create()));
    afterAll(() => stack.remove());
    afterEach(() => stack.reset());

    /** A command on the test's host, its connection not marked secret: the SDK does that. */
    const program = (args: Record<string, unknown>, options: Record<string, unknown> = {}): Program => ({
      args: { connection: fixture.sshd.connection({ port: fixture.relay.port }), ...args },
      options,
    });

    /** Writes a line into the test's log. */
    const note = (line: string) => `echo ${line} >>${fixture.sshd.folder}/log`;
    const log = () => (fixture.sshd.has("log") ? fixture.sshd.file("log").trim().split("\n") : []);
    beforeEach(() => fixture.run(`rm -f ${fixture.sshd.folder}/log`));

    test("an up runs the command, whose connection is never shown", async () => {
      const once = program({ create: "cat", stdin: "one" });
      const { failed, output } = await stack.up(once, "--config", "greeting=hello there");
      expect(failed).toBe(false);
      expect(output).toMatch(/connection *: \[secret\]/);
      expect(output).not.toContain("OPENSSH PRIVATE KEY");
      expect(await stack.outputs()).toEqual({
        stdout: "one",
        // The program has its configuration, and the node options of Pulumi.yaml.
        greeting: "hello there",
        stackTraceLimit: 3,
        title: "a title",
      });
    });

    test("neither a second up nor the preview of a change opens a connection", async () => {
      await stack.up(program({ create: "cat", stdin: "one" }));
      const connections = await fixture.connectionsOf(async () => {
        const again = await stack.up(program({ create: "cat", stdin: "one" }), "--expect-no-changes");
        expect(again).toMatchObject({ failed: false });
        const preview = await stack.preview(program({ create: "cat", stdin: "two" }));
        expect(preview.output).toMatch(/stdin *: "one" => "two"/);
        expect(preview.output).toMatch(/~ 1 to update/);
      });
      expect(connections).toBe(0);
    });

    test("a changed connection is an update; ignored, nothing happens, and a destroy uses the old one", async () => {
      const steps = { create: note("created"), delete: note("deleted") };
      await stack.up(program(steps));
      const slower = fixture.sshd.connection({ port: fixture.relay.port, perDialTimeout: 9 });
      expect((await stack.up(program({ ...steps, connection: slower }))).output).toMatch(/~ 1 updated/);
      expect(log()).toEqual(["created", "created"]);

      const elsewhere = fixture.sshd.connection({ port: await freePort() });
      const ignoring = program({ ...steps, connection: elsewhere }, { ignoreChanges: ["connection"] });
      expect(await stack.up(ignoring, "--expect-no-changes")).toMatchObject({ failed: false });
      expect(await stack.destroy()).toMatchObject({ failed: false });
      expect(log()).toEqual(["created", "created", "deleted"]);
    });

    test("a changed trigger replaces: the new create first, then the old delete", async () => {
      const steps = (n: number) => ({
        create: note(`create-${n}`),
        delete: note(`delete-${n}`),
        update: note(`update-${n}`),
        triggers: [n],
      });
      await stack.up(program(steps(1)));
      expect((await stack.up(program(steps(2)))).output).toMatch(/\+-1 replaced/);
      expect(log()).toEqual(["create-1", "create-2", "delete-1"]);
    });

    test("a create that fails shows the command and its output, and leaves nothing that a destroy would delete", async () => {
      const failing = program({ create: "echo why it failed; exit 7", delete: note("deleted") });
      const { failed, output } = await stack.up(failing);
      expect(failed).toBe(true);
      expect(output).toContain('Process exited with status 7: running "echo why it failed; exit 7":\n');
      expect(output).toContain("why it failed\n");
      expect(await stack.resourceTypes()).not.toContain("command:remote:Command");
      expect(await stack.destroy()).toMatchObject({ failed: false });
      expect(log()).toEqual([]);
    });

    test("an error of hundreds of kilobytes arrives", async () => {
      const { failed, output } = await stack.up(program({ create: "seq 60000; exit 1", logging: "none" }));
      expect(failed).toBe(true);
      expect(output).toContain('Process exited with status 1: running "seq 60000; exit 1":\n');
      expect(output).toContain("59999\n");
    });

    test("customTimeouts reach the provider", async () => {
      const connection = fixture.sshd.connection({ port: await freePort(), dialErrorLimit: -1 });
      const waiting = program({ create: "true", connection }, { customTimeouts: { create: "1s" } });
      const { failed, output } = await stack.up(waiting);
      expect(failed).toBe(true);
      expect(output).toContain("context deadline exceeded");
    });

    test("a message that the program ends with is shown alone", async () => {
      const { failed, output } = await stack.preview({ refuse: "ten things are wrong" });
      expect(failed).toBe(true);
      expect(output).toContain("error: ten things are wrong\n");
      expect(output).not.toMatch(/exit code|at .*index\.js/);
    });
  },
);
