import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFixture, errorOf } from "./support/command-fixture";
import { describeWith } from "./support/requirement";
import { sshdMissing } from "./support/sshd";
import { standInsMissing } from "./support/stand-ins";
import { TcpRelay } from "./support/tcp-relay";
import { until } from "./support/until";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

describeWith(standInsMissing() ?? sshdMissing(), "the command provider's stand-in", () => {
  const fixture = CommandFixture.inGroup();

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
      fixture.provider.create(
        { connection: fixture.connection(), source, remotePath: join(fixture.sshd.folder, remotePath) },
        { type },
      );

    beforeAll(() => {
      mkdirSync(join(fixture.sshd.folder, "source/sub"), { recursive: true });
      writeFileSync(join(fixture.sshd.folder, "source/a"), "A");
      writeFileSync(join(fixture.sshd.folder, "source/sub/b"), "B");
    });

    test("a text becomes a file, with the folders above it", async () => {
      await copy(textAsset("hello"), "new/deep/text");
      expect(fixture.sshd.file("new/deep/text")).toBe("hello");
    });

    test("a text onto a folder is refused", async () => {
      expect(await errorOf(copy(textAsset("hello"), "source"))).toMatch(/is a directory; when using a text/);
    });

    test("a file goes to the path, or into a folder that is there", async () => {
      const file = pathArchive(join(fixture.sshd.folder, "source/a"));
      await copy(file, "copied");
      await copy(file, "new");
      expect([fixture.sshd.file("copied"), fixture.sshd.file("new/a")]).toEqual(["A", "A"]);
    });

    test("a folder goes below the path, with a trailing slash its content only", async () => {
      await copy(pathArchive(join(fixture.sshd.folder, "source")), "whole");
      await copy(pathArchive(join(fixture.sshd.folder, "source/")), "content");
      expect([fixture.sshd.file("whole/source/sub/b"), fixture.sshd.file("content/sub/b")]).toEqual([
        "B",
        "B",
      ]);
    });

    test("an update copies only another source or to another path; a delete leaves the file", async () => {
      const state = await copy(textAsset("first"), "kept");
      writeFileSync(join(fixture.sshd.folder, "kept"), "changed by hand");
      await fixture.provider.update(
        state,
        { ...state, connection: fixture.connection({ perDialTimeout: 1 }) },
        { type },
      );
      expect(fixture.sshd.file("kept")).toBe("changed by hand");
      await fixture.provider.update(state, { ...state, source: textAsset("second") }, { type });
      await fixture.provider.delete(state, { type });
      expect(fixture.sshd.file("kept")).toBe("second");
    });

    test("its connection is closed at once", async () => {
      const relay = fixture.keep(await TcpRelay.start(fixture.sshd.port), (one) => one.stop());
      const connection = fixture.connection({ port: relay.port });
      const remotePath = join(fixture.sshd.folder, "closed");
      await fixture.provider.create({ connection, source: textAsset("x"), remotePath }, { type });
      await until(() => relay.openConnections === 0);
      expect(relay.connections).toBe(1);
    });
  });
});
