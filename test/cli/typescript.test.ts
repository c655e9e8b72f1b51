import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROJECT = join(__dirname, "..", "..");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "typescript-")));
const file = join(folder, "program.ts");

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs a program as `./stack` and Pulumi do, and says whether the compiler was loaded. */
function run(text: string): { stdout: string; stderr: string } {
  writeFileSync(file, text);
  const tell = `process.on("exit", () => console.log("compiler", Object.keys(require.cache).some((name) => name.includes("@swc/core/index"))));`;
  writeFileSync(join(folder, "tell.js"), tell);
  const words = ["--require", join(PROJECT, "cli/typescript.js"), "--require", join(folder, "tell.js"), file];
  return spawnSync("node", words, { encoding: "utf8" });
}

const program = `interface Greeting { readonly text: string }

const greeting: Greeting = { text: "hello ${folder}" };
console.log(greeting.text);
`;

test("the compiler is loaded for a program's first run only", () => {
  expect(run(program).stdout).toBe(`hello ${folder}\ncompiler true\n`);
  expect(run(program).stdout).toBe(`hello ${folder}\ncompiler false\n`);
});

test("a changed program is compiled anew", () => {
  run(program);
  expect(run(program.replace("hello", "good evening")).stdout).toBe(
    `good evening ${folder}\ncompiler true\n`,
  );
});

test("an error names the line of the source", () => {
  const { stderr } = run(
    `interface Long {\n  readonly a: string;\n}\n\nthrow new Error(${JSON.stringify(folder)});\n`,
  );
  expect(stderr).toContain(`${file}:5:7`);
});
