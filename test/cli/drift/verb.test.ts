import { readFileSync, writeFileSync, mkdtempSync, chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { assess } from "../../../cli/findings";
import { run } from "../../../cli/main";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { allSteps } from "../../../plan/stack";
import { captureOutput, type Printed } from "../captured-output";

jest.setTimeout(60_000);

const LAB = path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml");
const found = assess(LAB).plan;
if (found === undefined) throw new Error("the lab's stack is refused");
const plan = found;

let folder: string;
let oldPath: string | undefined;
let printed: Printed;

/** An ssh that notes what it gets and answers as a host where every step finds `differences`. */
function host(differences: readonly string[], status = 0): void {
  const conf = readFileSync(path.join(__dirname, "fixtures", "129.conf"), "utf8");
  writeFileSync(path.join(folder, "129.conf"), conf);
  const result = JSON.stringify({ changed: false, differences });
  const clean = JSON.stringify({ changed: false, differences: [] });
  const steps = allSteps(plan).map(({ name }, index) => [name, index === 0 ? result : clean]);
  const script = `#!/bin/bash
cd ${folder}
printf '%s\\n' "$*" >>calls
cat >input
mark=$(grep -o 'look-[0-9a-f]*' input | head -n 1)
[[ ${status} == 0 ]] || { echo "ssh: connect to host: Connection refused" >&2; exit ${status}; }
${steps.map(([name, text]) => `printf '%s\\n%s step %s 0 1\\n' '${text}' "$mark" '${name}'`).join("\n")}
printf '\\n%s container 129 0 1\\n' "$mark"
cat 129.conf; printf '%s configuration 129 0 1\\n' "$mark"
`;
  writeFileSync(path.join(folder, "ssh"), script);
  chmodSync(path.join(folder, "ssh"), 0o755);
}

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "drift-"));
  oldPath = process.env.PATH;
  process.env.PATH = `${folder}:${oldPath ?? ""}`;
  printed = captureOutput();
});
afterEach(() => {
  process.env.PATH = oldPath;
  jest.restoreAllMocks();
});

const calls = () => readFileSync(path.join(folder, "calls"), "utf8").trim().split("\n");

/** The lab's stack with the address of a host that is not recorded. */
function unrecorded(): string {
  const file = path.join(folder, "Pulumi.new.yaml");
  writeFileSync(file, readFileSync(LAB, "utf8").replace(/hostKey: .*/, "hostKey: unknown"));
  return file;
}

test("all as declared: exit 0, over one connection, with nothing but a reader on its command line", async () => {
  host([]);
  expect(await run(["drift", LAB])).toBe(0);
  expect(printed.stdout).toMatch(/steps checked in [\d.]+ s, all as declared\n$/);
  expect(calls()).toHaveLength(1);
  expect(calls()[0]).toMatch(/ root@10\.77\.0\.5 bash -c 'eval "\$\(cat\)"'$/);
});

test("a difference: exit 2, and a row that says where and what", async () => {
  host(["nouveau is loaded"]);
  expect(await run(["drift", LAB])).toBe(2);
  expect(printed.stdout).toMatch(/host pve1 .*driver-kernel .*nouveau is loaded/);
  expect(await run(["drift", LAB, "--json"])).toBe(2);
});

test("a host that does not answer: exit 4, and no table", async () => {
  host([], 255);
  expect(await run(["drift", LAB])).toBe(4);
  expect(printed.stdout).toBe("");
  expect(printed.stderr).toContain("10.77.0.5 cannot be reached over SSH");
});

test("--hash asks the models' steps to read every file, and no other", async () => {
  host([]);
  await run(["drift", LAB]);
  expect(readFileSync(path.join(folder, "input"), "utf8")).not.toContain("hash=yes");
  await run(["drift", LAB, "--hash"]);
  const input = readFileSync(path.join(folder, "input"), "utf8");
  expect(input.match(/hash=yes/g)).toHaveLength(1);
  expect(input).toMatch(/set -- qwen36-snapshot [^\n]*hash=yes/);
});

test("a host whose key nobody recorded is not dialled", async () => {
  host([]);
  expect(await run(["drift", unrecorded()])).toBe(1);
  expect(printed.stderr).toContain("was not recorded");
  expect(() => calls()).toThrow();
});
