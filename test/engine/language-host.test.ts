import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const load = createRequire(__filename);
const { runtimeOptions, shellWords } = load("../../engine/stand-ins/language/runtime-options.js") as {
  runtimeOptions(raw: Record<string, unknown>): Record<string, unknown>;
  shellWords(text: string): string[];
};
const { requiredPackages } = load("../../engine/stand-ins/language/program-packages.js") as {
  requiredPackages(programDirectory: string): Record<string, string>[];
};

describe("runtime options of Pulumi.yaml", () => {
  test("defaults", () => {
    expect(runtimeOptions({})).toEqual({ typescript: true, tsconfig: "", nodeargs: [] });
  });

  test("of the wrong type are refused by name", () => {
    expect(() => runtimeOptions({ typescript: "false" })).toThrow("typescript option must be a boolean");
    expect(() => runtimeOptions({ nodeargs: ["-r"] })).toThrow("nodeargs option must be a string");
  });

  test("a package manager that the stand-in does not cover is refused", () => {
    expect(runtimeOptions({ packagemanager: "npm" })).toBeDefined();
    expect(() => runtimeOptions({ packagemanager: "pnpm" })).toThrow('packagemanager "pnpm" is not covered');
  });

  test.each([
    ["", []],
    ["  -r  a/b ", ["-r", "a/b"]],
    [`--title='a b' "c d"`, ["--title=a b", "c d"]],
    [String.raw`a\ b "q\"q" 'n\n'`, ["a b", 'q"q', String.raw`n\n`]],
  ])("nodeargs %j are the words %j", (text, words) => {
    expect(shellWords(text)).toEqual(words);
  });
});

describe("plugins that a program needs", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "program-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const npmPackage = (path: string, manifest: Record<string, unknown>) => {
    const file = join(folder, "node_modules", path, "package.json");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(manifest));
  };

  test("are named by npm packages at any depth, each once", () => {
    npmPackage("@pulumi/command", { name: "@pulumi/command", version: "1.2.1", pulumi: { resource: true } });
    npmPackage("wrapped", {
      name: "wrapped",
      version: "9.9.9",
      pulumi: { resource: true, name: "proxmoxve", version: "v8.6.0", server: "https://plugins.example" },
    });
    npmPackage("library", { name: "library", version: "1.0.0", pulumi: { resource: false } });
    npmPackage("library/node_modules/@pulumi/command", {
      name: "@pulumi/command",
      version: "1.2.1",
      pulumi: { resource: true },
    });
    npmPackage("library/node_modules/@pulumi/random", {
      name: "@pulumi/random",
      version: "4.0.0",
      pulumi: { resource: true },
    });
    expect(requiredPackages(folder)).toEqual([
      { name: "command", version: "1.2.1", server: "" },
      { name: "random", version: "4.0.0", server: "" },
      { name: "proxmoxve", version: "8.6.0", server: "https://plugins.example" },
    ]);
  });

  test("a link that leads back up ends", () => {
    npmPackage("self", { name: "self", version: "1.0.0" });
    mkdirSync(join(folder, "node_modules/self/node_modules"));
    symlinkSync(join(folder, "node_modules/self"), join(folder, "node_modules/self/node_modules/self"));
    expect(requiredPackages(folder)).toEqual([]);
  });

  test("a package.json that is not JSON names none", () => {
    mkdirSync(join(folder, "node_modules/broken"), { recursive: true });
    writeFileSync(join(folder, "node_modules/broken/package.json"), "{ not JSON");
    expect(requiredPackages(folder)).toEqual([]);
  });

  test("a program without packages needs none", () => {
    expect(requiredPackages(folder)).toEqual([]);
  });
});
