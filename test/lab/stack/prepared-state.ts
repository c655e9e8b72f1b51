import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { cacheFolder } from "../../../cli/cache-folder";
import { LabStack, PROJECT } from "./lab-stack";

const SAVED = join(cacheFolder(), "lab", "saved");

/** Saved states that no test file started from for so long are removed when another is made; a run takes less. */
const KEPT_HOURS = 3;

/** Everything of the stack but its service. */
const ALL_BUT_SERVICE = ["--exclude", "**qwen-service"];

const STATE = "pulumi-state/.pulumi/stacks/proxmox-gpu-stack/test.json";
/** What of a LabStack's folder belongs to the state of its host. */
const STACK_FILES = ["Pulumi.yaml", "Pulumi.test.yaml", STATE];

/** Made of what of the checkout a prepared host could depend on: all but tests, measurements and prose. */
function layerOfCheckout(): string {
  const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  const own = ["test/lab/stack/prepared-state.ts", "test/lab/stack/lab-stack.ts"];
  const names = listed.stdout
    .split("\0")
    .filter((name) => name !== "" && !/^(test|docs|bench|\.github)\/|\.md$/.test(name));
  const hash = createHash("sha256");
  for (const name of [...own, ...names].sort()) {
    const path = join(PROJECT, name);
    // Listed, and taken away in the working tree, or a link to a folder.
    if (statSync(path, { throwIfNoEntry: false })?.isFile())
      hash.update(`${name}\0`).update(readFileSync(path)).update("\0");
  }
  return `prepared-${hash.digest("hex").slice(0, 16)}`;
}

/** Written last, so that a state that has it is whole; its time is that of the last use. */
const mark = (layer: string) => join(SAVED, layer, "complete");

function removeUnused(): void {
  for (const name of readdirSync(SAVED)) {
    if (!name.startsWith("prepared-")) continue;
    const used = statSync(mark(name), { throwIfNoEntry: false }) ?? statSync(join(SAVED, name));
    if (Date.now() - used.mtimeMs > KEPT_HOURS * 3_600_000)
      rmSync(join(SAVED, name), { recursive: true, force: true });
  }
}

/** Deploys Pulumi.lab.yaml without its service to a bare host, and keeps host and stack; nothing when they are there. */
export function prepareState(): void {
  const layer = layerOfCheckout();
  if (existsSync(mark(layer))) return;
  removeUnused();
  const stack = new LabStack();
  try {
    stack.up();
    stack.deploy(...ALL_BUT_SERVICE);
    stack.lab("save", "pve1", layer);
    for (const name of STACK_FILES) cpSync(join(stack.folder, name), join(SAVED, layer, name));
    writeFileSync(mark(layer), "");
  } finally {
    stack.down();
  }
}

/** Gives a lab the prepared host, on the lab's own network, and the stack that deployed it. */
export function startPrepared(stack: LabStack): void {
  const layer = layerOfCheckout();
  if (!existsSync(mark(layer))) {
    mkdirSync(SAVED, { recursive: true });
    const program = ["node", "--require", "./cli/typescript.js", "test/lab/stack/prepare.ts"];
    const { status, stderr } = spawnSync("flock", [join(SAVED, "..", "prepare.lock"), ...program], {
      cwd: PROJECT,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`the prepared host could not be made:\n${stderr}`);
  }
  utimesSync(mark(layer), new Date(), new Date());
  const saved = join(SAVED, layer);
  const network = readFileSync(join(saved, "subnet"), "utf8").trim();
  for (const name of STACK_FILES) {
    mkdirSync(join(stack.folder, name, ".."), { recursive: true });
    const text = readFileSync(join(saved, name), "utf8");
    writeFileSync(join(stack.folder, name), text.replaceAll(`${network}.`, `${stack.subnet}.`));
  }
  stack.upFrom(layer);
  // The state's secrets and digests of settings hold the other network's addresses too.
  if (network !== stack.subnet) stack.deploy(...ALL_BUT_SERVICE);
}
