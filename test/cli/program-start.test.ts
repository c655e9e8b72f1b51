import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROJECT = join(__dirname, "..", "..");
const START = join(PROJECT, "cli/program-start.js");

function node(...words: string[]): { stdout: string; stderr: string } {
  return spawnSync("node", words, { cwd: PROJECT, encoding: "utf8" });
}

const SDKS = 'require("@pulumi/pulumi"); require("@pulumi/command"); require("@muhlba91/pulumi-proxmoxve");';
const FUNCTION = `${SDKS} const five = 5;
require("@pulumi/pulumi").runtime.serializeFunction((n) => n + five).then(({ text }) => console.log(text));`;

test("the SDKs are loaded without TypeScript's compiler and npm's resolver", () => {
  const tell = `${SDKS} console.log(Object.keys(require.cache).filter((name) => /node_modules.(typescript|@npmcli)./.test(name)).length)`;
  expect(node("--require", START, "--eval", tell).stdout).toBe("0\n");
  expect(Number(node("--eval", tell).stdout)).toBeGreaterThan(0);
});

test("neither what drives stacks from outside nor messages in other languages are loaded, and both can be", () => {
  const tell = `const sdk = require("@pulumi/pulumi"); const { z } = require("zod");
    const loaded = (part) => Object.keys(require.cache).some((name) => name.includes(part));
    console.log(loaded("pulumi/automation"), loaded("locales/de.cjs"), loaded("locales/en.cjs"));
    console.log(typeof sdk.automation.LocalWorkspace.create, typeof z.locales.de, z.string().safeParse(1).error.issues[0].message);`;
  expect(node("--require", START, "--eval", tell).stdout).toBe(
    "false false true\nfunction function Invalid input: expected string, received number\n",
  );
});

test("what sends traces is loaded when somebody asks for traces, and works then", () => {
  const tell = `const tracing = require("@pulumi/pulumi/cmd/run/tracing.js");
    const loaded = () => Object.keys(require.cache).some((name) => /opentelemetry.(sdk|exporter)/.test(name));
    const before = loaded();
    tracing.start("http://127.0.0.1:9/api/v2/spans");
    console.log(before, loaded(), tracing.newSpan("one").isRecording());
    process.exit();`;
  expect(node("--require", START, "--eval", tell).stdout).toBe("false true true\n");
});

test("what the SDK does with them still works", () => {
  const { stdout } = node("--require", START, "--eval", FUNCTION);
  expect(stdout).toContain("n + five");
  expect(stdout).toBe(node("--eval", FUNCTION).stdout);
});

test("an error of the program names the line of the source, whatever Pulumi's runner maps", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "program-start-")));
  const file = join(folder, "program.ts");
  writeFileSync(
    file,
    `interface Long {\n  readonly a: string;\n}\n\nthrow new Error(${JSON.stringify(folder)});\n`,
  );
  const runner = `require("source-map-support/register"); require(${JSON.stringify(file)})`;
  expect(node("--require", START, "--eval", runner).stderr).toContain(`${file}:5:7`);
  rmSync(folder, { recursive: true });
});
