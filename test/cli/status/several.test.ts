/** `./stack status` over several stacks, with a stand-in for ssh that knows two hosts. */
import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { chosenStacks } from "../../../cli/status/stacks";
import { PROJECT_DIRECTORY } from "../../../config/load";

const folder = mkdtempSync(path.join(tmpdir(), "stack-status-"));
const own = path.join(folder, "tmp");

/** 10.77.0.6 cannot be reached, 10.77.0.7 never answers; any other host tells what the lab's host told. */
const SSH = `#!/bin/bash
cat >/dev/null
case "$*" in
  *root@10.77.0.6*) echo "ssh: connect to host 10.77.0.6 port 22: No route to host" >&2; exit 255 ;;
  *root@10.77.0.7*) exec sleep 60 ;;
  *) tr -d '\\n' <"${path.join(__dirname, "fixtures", "healthy.json")}" ;;
esac
`;

/** A stack file like the lab's with another host. */
function stackFile(name: string, address: string, key = ""): string {
  const text = readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8");
  const file = path.join(folder, `Pulumi.${name}.yaml`);
  const changed = text.replace("address: 10.77.0.5", `address: ${address}`);
  writeFileSync(file, changed.replace("config:\n", `config:\n${key}`));
  return file;
}

const good = stackFile("good", "10.77.0.5");
const gone = stackFile("gone", "10.77.0.6");
const hangs = stackFile("hangs", "10.77.0.7");

beforeAll(() => {
  mkdirSync(own);
  writeFileSync(path.join(folder, "ssh"), SSH);
  chmodSync(path.join(folder, "ssh"), 0o755);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param interrupt is asked with all output so far, until it says that Ctrl-C is pressed now */
function status(words: readonly string[], interrupt?: (stdout: string) => boolean): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(path.join(PROJECT_DIRECTORY, "stack"), ["status", ...words], {
      env: { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}`, TMPDIR: own },
    });
    let [stdout, stderr] = ["", ""];
    let pressed = false;
    const look = setInterval(() => {
      if (pressed || interrupt === undefined || !interrupt(stdout)) return;
      pressed = true;
      child.kill("SIGINT");
    }, 50);
    child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
    child.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
    child.on("close", (code) => {
      clearInterval(look);
      resolve({ code, stdout, stderr });
    });
  });
}

/** Folders of connections, with their keys. */
const connections = (): string[] => readdirSync(own).filter((name) => name.startsWith("stack-ssh-"));

test("a host that cannot be reached is told, does not stop the rest, and gives exit code 4", async () => {
  const { code, stdout } = await status([gone, good]);
  expect(stdout).toContain("gone: 10.77.0.6 cannot be reached over SSH");
  expect(stdout).toMatch(/│ good\s+│ pve1\s+│/);
  expect(stdout).toMatch(/│ good\s+│ a6000-1\s+│/);
  expect(stdout).toMatch(/│ good\s+│ ml\s+│ 129/);
  expect(stdout).toMatch(/│ good\s+│ qwen\s+│ active/);
  expect(code).toBe(4);
});

test("--json gives every stack a report or an error", async () => {
  const { code, stdout } = await status([gone, good, "--json"]);
  const { stacks } = JSON.parse(stdout) as { stacks: Record<string, unknown>[] };
  expect(stacks).toMatchObject([
    { stack: "gone", exitCode: 4 },
    { stack: "good", host: { node: "pve1" }, problems: expect.anything() as unknown },
  ]);
  expect(stacks[0]?.["error"]).toContain("cannot be reached");
  expect(code).toBe(4);
});

test("--watch looks again and again, and ends on Ctrl-C with the last look's exit code", async () => {
  const blocks = (text: string): number =>
    text.split("\n").filter((line) => line.endsWith(", every 1 s")).length;
  const { code, stdout } = await status([gone, good, "--watch", "1"], (text) => blocks(text) >= 2);
  expect(blocks(stdout)).toBeGreaterThanOrEqual(2);
  expect(stdout).not.toContain("\u001b");
  expect(code).toBe(4);
  expect(connections()).toEqual([]);
});

test("Ctrl-C during a look ends its connection and leaves no key behind", async () => {
  const started = Date.now();
  const { code, stdout } = await status([hangs, "--watch"], () => connections().length > 0);
  expect(stdout).toBe("");
  expect(code).toBe(1);
  expect(connections()).toEqual([]);
  expect(Date.now() - started).toBeLessThan(30_000);
});

test.each(["0", "lab", "1.5"])("--watch %s is refused", async (seconds) => {
  const { code, stderr } = await status([good, "--watch", seconds]);
  expect(stderr).toContain(`--watch ${seconds}: write whole seconds`);
  expect(code).toBe(3);
});

test("without a name the stacks in service are asked, others are named with the reason", () => {
  const directory = path.join(folder, "project");
  mkdirSync(directory);
  for (const [name, file] of [
    ["good", good],
    ["example", good],
    ["nowhere", stackFile("nowhere", "unknown")],
    ["old", stackFile("old", "10.77.0.5", '  proxmox-gpu-stack:retired: "2026-11-30"\n')],
  ] as const)
    copyFileSync(file, path.join(directory, `Pulumi.${name}.yaml`));
  const { stacks, leftOut } = chosenStacks([], directory);
  expect(stacks.map(({ name }) => name)).toEqual(["good"]);
  expect(leftOut).toEqual(["nowhere: the address of its host is not recorded", "old: retired on 2026-11-30"]);
});

test("a stack that is named twice is asked once", () => {
  expect(chosenStacks([good, good]).stacks).toHaveLength(1);
});
