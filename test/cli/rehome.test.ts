import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { rehome, type RehomeOptions } from "../../cli/rehome";
import { captureOutput, type Printed } from "./captured-output";
import { emptyHost, stackText } from "../plan/rehome/support";

function run(from: string, to: string, options: RehomeOptions = {}): Printed & { code: number } {
  const printed = captureOutput();
  try {
    const code = rehome(from, to, options);
    return { code, ...printed };
  } finally {
    jest.restoreAllMocks();
  }
}

/** A stack file away from the project. */
function fileOf(name: string, text: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "rehome-")), `Pulumi.${name}.yaml`);
  writeFileSync(file, text);
  return file;
}

const target = (): string => fileOf("other", emptyHost("other", 2).text);

test("writes the target's stack file, which passes and moves once only", () => {
  const file = target();
  const { code, stdout } = run("kpro5", file);
  expect(stdout).toContain("qwen: card-0, card-1 (2 x rtx-a6000), environments/qwen36-sglang-0.5.11");
  expect(stdout).toMatch(
    /model qwen36: Qwen\/Qwen3.6-27B at [0-9a-f]{40} to \/srv\/models\/qwen3.6-27b \(51\.7 GiB\)/,
  );
  expect(code).toBe(0);
  expect(readFileSync(file, "utf8")).toContain("servedModelName: qwen3.6-27b");
  const again = run("kpro5", file);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain("serves the same model under the same name");
});

test("--dry-run shows the difference and writes nothing", () => {
  const file = target();
  const before = readFileSync(file, "utf8");
  const { code, stdout } = run("kpro5", file, { dryRun: true });
  expect(stdout).toMatch(/^@@ .*$/m);
  expect(stdout).toMatch(/^\+ +servedModelName: qwen3.6-27b$/m);
  expect(code).toBe(0);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("writes nothing when one of the services is refused, and says why and which would fit", () => {
  const file = fileOf("kpro5", stackText("kpro5"));
  const { code, stderr } = run("kpro6", file);
  expect(code).toBe(1);
  expect(stderr).toContain("✖ R24: ");
  expect(stderr).toContain("qwen3.6-27b on 2 x rtx-a6000 with SGLang 0.5.11");
  expect(stderr).toContain("nothing was written");
  expect(readFileSync(file, "utf8")).toBe(stackText("kpro5"));
});

test("--json has what moved, what was refused, what to copy, and the difference", () => {
  const { code, stdout } = run("kpro5", target(), { json: true, dryRun: true });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    written: false,
    moved: [{ from: "qwen", service: "qwen", lock: "qwen36-sglang-0.5.11" }],
    refused: [],
    copies: { models: [{ name: "qwen36" }] },
    diff: expect.stringContaining("@@") as string,
  });
  const refusal = run("kpro6", fileOf("kpro5", stackText("kpro5")), { json: true, service: ["kimi"] });
  expect(refusal.code).toBe(1);
  expect(JSON.parse(refusal.stdout)).toMatchObject({ written: false, refused: [{ from: "kimi" }] });
});

test("an address of the other host in a setting of a service is refused", () => {
  const from = fileOf(
    "kpro5",
    stackText("kpro5").replace("      user: root", '      user: root\n      env: { PEER: "10.1.2.5:80" }'),
  );
  const file = target();
  const before = readFileSync(file, "utf8");
  expect(() => run(from, file)).toThrow("10.1.2.5 belongs to kpro5 and would be in other");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("names the services that there are", () => {
  expect(() => run("kpro6", "kpro5", { service: ["kimo"] })).toThrow(
    'kpro6 has no service "kimo": it has kimi or qwen; did you mean kimi?',
  );
});

test("a stack with errors is refused with them", () => {
  const broken = fileOf("kpro5", stackText("kpro5").replace("vmId: 129", "vmId: 12"));
  expect(() => run(broken, target())).toThrow(/Pulumi\.kpro5\.yaml has errors.*\n.*containers\.ml\.vmId/);
});
