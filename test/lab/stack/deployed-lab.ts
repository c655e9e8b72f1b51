import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { LabStack, PROJECT } from "./lab-stack";

const CACHE = process.env.PROXMOX_GPU_STACK_CACHE ?? join(homedir(), ".cache", "proxmox-gpu-stack");

/** What of a LabStack's folder belongs to the state of its host. */
const STACK_FILES = ["Pulumi.yaml", "Pulumi.test.yaml", "pulumi-state"];

/** A digest of everything that a prepared host could depend on: the whole checkout but tests and prose. */
function digestOfInputs(): string {
  const listed = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`);
  const own = ["test/lab/stack/deployed-lab.ts", "test/lab/stack/lab-stack.ts"];
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
  return hash.digest("hex");
}

/** The saved state of one network's prepared host: the lab's layer, and in the same folder the stack's state. */
class SavedState {
  readonly layer: string;
  private readonly folder: string;
  private readonly mark: string;

  constructor(subnet: string) {
    this.layer = `prepared-${subnet.replaceAll(".", "-")}`;
    this.folder = join(CACHE, "lab", "saved", this.layer);
    // Written last, so that a state that has it is whole.
    this.mark = join(this.folder, "inputs");
  }

  /** Whether it is there and was made of what the checkout holds now. */
  isCurrent(digest: string): boolean {
    return existsSync(this.mark) && readFileSync(this.mark, "utf8") === digest;
  }

  /** Deploys Pulumi.lab.yaml without its service to a bare host, and keeps host and stack. */
  make(stack: LabStack, digest: string): void {
    stack.up();
    stack.deploy("--exclude", "**qwen-service");
    stack.lab("save", "pve1", this.layer);
    for (const name of STACK_FILES)
      cpSync(join(stack.folder, name), join(this.folder, name), { recursive: true });
    writeFileSync(this.mark, digest);
  }

  /** Puts the stack's state into a lab's folder. */
  copyStack(folder: string): void {
    for (const name of STACK_FILES) cpSync(join(this.folder, name), join(folder, name), { recursive: true });
  }
}

/**
 * A lab for the tests of one file whose host has driver, container, model and environment of Pulumi.lab.yaml already, and
 * no service yet: for tests of what comes after. The state is made by the first file that needs it and kept for as long as
 * the checkout's inputs stay the same; the way there belongs to tests that start from a bare host.
 */
export function usePreparedLab(): LabStack {
  const stack = new LabStack();
  const saved = new SavedState(stack.subnet);
  jest.setTimeout(600_000);
  beforeAll(() => {
    const digest = digestOfInputs();
    if (!saved.isCurrent(digest)) saved.make(stack, digest);
    saved.copyStack(stack.folder);
    stack.upFrom(saved.layer);
  });
  afterAll(() => {
    stack.down();
  });
  return stack;
}

/** The same with the service: deployed as a whole before the first test. */
export function useDeployedLab(): LabStack {
  const stack = usePreparedLab();
  beforeAll(() => {
    stack.deploy();
  });
  return stack;
}
