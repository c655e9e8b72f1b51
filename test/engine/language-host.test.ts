import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { dependencies } from "../../package.json";
import { errorOf } from "./support/command-fixture";
import { LanguageHost } from "./support/language-host";
import { describeWith } from "./support/requirement";
import { standInsMissing } from "./support/stand-ins";
import { until } from "./support/until";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

describeWith(standInsMissing(), "the language host's stand-in", () => {
  let host: LanguageHost;
  beforeEach(async () => (host = await LanguageHost.start()));
  afterEach(() => host.stop());

  test("says which SDK it is for", async () => {
    expect(await host.version()).toBe(dependencies["@pulumi/pulumi"]);
  });

  test("names what it does not cover", async () => {
    expect(await errorOf(host.about())).toBe("stand-in: About is not covered");
  });

  describe("runtime options of Pulumi.yaml", () => {
    beforeEach(() => host.sdk());

    test("defaults", async () => {
      expect(await host.run().ended).toEqual({ error: "", bail: false });
      expect(host.nodeVariable("PULUMI_NODEJS_TYPESCRIPT")).toBe("true");
      expect(host.nodeVariable("PULUMI_NODEJS_TSCONFIG_PATH")).toBeUndefined();
    });

    test("all together", async () => {
      await host.run({ options: { typescript: false, tsconfig: "a/tsconfig.json", packagemanager: "npm" } })
        .ended;
      expect(host.nodeVariable("PULUMI_NODEJS_TYPESCRIPT")).toBeUndefined();
      expect(host.nodeVariable("PULUMI_NODEJS_TSCONFIG_PATH")).toBe("a/tsconfig.json");
    });

    test.each([
      [{ typescript: "false" }, "typescript option must be a boolean"],
      [{ nodeargs: ["-r"] }, "nodeargs option must be a string"],
      [{ tsconfig: null }, "tsconfig option must be a string"],
      [{ packagemanager: "pnpm" }, 'stand-in: packagemanager "pnpm" is not covered; use npm'],
      [{ nodeargs: `-r "a` }, `nodeargs option: a " without its other half in: -r "a`],
    ])("%j is refused", async (options, error) => {
      expect(await host.run({ options }).ended).toEqual({ error, bail: false });
      expect(host.has("started")).toBe(false);
    });

    test.each([
      ["", []],
      ["  -r  a/b ", ["-r", "a/b"]],
      [`--title='a b' "c d"`, ["--title=a b", "c d"]],
      [String.raw`a\ b "q\"q" 'n\n'`, ["a b", 'q"q', String.raw`n\n`]],
    ])("nodeargs %j are the words %j", async (nodeargs, words) => {
      await host.run({ options: { nodeargs } }).ended;
      expect(host.nodeArguments.slice(0, words.length)).toEqual(words);
      expect(host.nodeArguments[words.length]).toMatch(/cmd\/run$/);
    });
  });

  describe("a program", () => {
    test("is run by the SDK's cmd/run, with all that it is told", async () => {
      const runner = host.sdk();
      await host.run({ preview: true }).ended;
      expect(host.nodeArguments).toEqual([
        runner,
        ...["--monitor", "monitor:1"],
        ...["--engine", "engine:1"],
        ...["--organization", "organization"],
        ...["--project", "project"],
        ...["--root-directory", host.folder],
        ...["--stack", "stack"],
        ...["--pwd", host.program],
        ...["--parallel", "4"],
        "--dry-run",
        ".",
        "an argument",
      ]);
    });

    test("gets the engine's address of the handshake", async () => {
      host.sdk();
      await host.handshake("engine:2");
      await host.run().ended;
      expect(host.nodeArguments).toContain("engine:2");
      expect(host.nodeArguments).not.toContain("engine:1");
    });

    test("may have its SDK in a folder above; without one it is not run", async () => {
      expect(await host.run().ended).toEqual({
        error: `@pulumi/pulumi is not installed in ${host.program}: run npm ci there`,
        bail: false,
      });
      const runner = host.sdk(".");
      await host.run().ended;
      expect(host.nodeArguments[0]).toBe(runner);
    });

    test("gets its configuration under the keys that the SDK reads", async () => {
      host.sdk();
      await host.run({
        config: { "a:b": "1", "a:config:c": "<2>", "a:b:c": "3" },
        secretKeys: ["a:b"],
      }).ended;
      expect(JSON.parse(host.nodeVariable("PULUMI_CONFIG") ?? "")).toEqual({
        "a:config:b": "1",
        "a:config:c": "<2>",
        "a:config:b:c": "3",
      });
      expect(host.nodeVariable("PULUMI_CONFIG_SECRET_KEYS")).toBe('["a:b"]');
      await host.run().ended;
      expect(host.nodeVariable("PULUMI_CONFIG_SECRET_KEYS")).toBe("[]");
    });

    test.each([
      ["0", { error: "", bail: false }],
      ["32", { error: "", bail: true }],
      ["7", { error: "Program exited with non-zero exit code: 7", bail: false }],
    ])("that ends with %s", async (code, ended) => {
      host.sdk();
      host.write("code", code);
      expect(await host.run().ended).toEqual(ended);
    });

    test("is not run under a debugger", async () => {
      host.sdk();
      expect(await host.run({ debugger: true }).ended).toEqual({
        error: "stand-in: --attach-debugger is not covered",
        bail: false,
      });
    });

    test("is interrupted by the engine's Cancel", async () => {
      host.sdk();
      host.write("hangs", "");
      const { ended } = host.run();
      await until(() => host.has("started"));
      await host.cancel();
      expect(await ended).toEqual({ error: "Program exited with non-zero exit code: 130", bail: false });
      expect(host.has("interrupted")).toBe(true);
    });

    test("is interrupted when its request is taken back", async () => {
      host.sdk();
      host.write("hangs", "");
      const { ended, cancel } = host.run();
      await until(() => host.has("started"));
      cancel();
      await expect(ended).rejects.toThrow(/cancelled/i);
      await until(() => host.has("interrupted"));
    });

    test("is interrupted when the host has to end", async () => {
      host.sdk();
      host.write("hangs", "");
      host.run().ended.catch(() => undefined);
      await until(() => host.has("started"));
      expect(await host.interrupt()).toBe(0);
      await until(() => host.has("interrupted"));
    });
  });

  describe("plugins that a program needs", () => {
    test("are named by npm packages at any depth, each once", async () => {
      const command = { name: "@pulumi/command", version: "1.2.1", pulumi: { resource: true } };
      host.npmPackage("@pulumi/command", command);
      host.npmPackage("wrapped", {
        name: "wrapped",
        version: "9.9.9",
        pulumi: { resource: true, name: "proxmoxve", version: "v8.6.0", server: "https://plugins.example" },
      });
      host.npmPackage("library", { name: "library", version: "1.0.0", pulumi: { resource: false } });
      host.npmPackage("library/node_modules/@pulumi/command", command);
      host.npmPackage("library/node_modules/@pulumi/random", {
        name: "@pulumi/random",
        version: "4.0.0",
        pulumi: { resource: true },
      });
      expect(await host.requiredPackages()).toEqual([
        { kind: "resource", name: "command", version: "v1.2.1", server: "" },
        { kind: "resource", name: "random", version: "v4.0.0", server: "" },
        { kind: "resource", name: "proxmoxve", version: "v8.6.0", server: "https://plugins.example" },
      ]);
    });

    test("a link that leads back up ends", async () => {
      host.npmPackage("self", { name: "self", version: "1.0.0" });
      mkdirSync(join(host.program, "node_modules/self/node_modules"));
      symlinkSync(
        join(host.program, "node_modules/self"),
        join(host.program, "node_modules/self/node_modules/self"),
      );
      expect(await host.requiredPackages()).toEqual([]);
    });

    test("a package.json that is not JSON names none", async () => {
      host.npmPackage("broken", "{ not JSON");
      expect(await host.requiredPackages()).toEqual([]);
    });

    test("a program without packages needs none", async () => {
      expect(await host.requiredPackages()).toEqual([]);
    });
  });
});
