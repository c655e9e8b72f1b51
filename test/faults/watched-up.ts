import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { join } from "node:path";

import { PROJECT, type LabStack } from "../lab/stack/lab-stack";

const PULUMI = '. engine/env.sh && exec pulumi "$@"';

const settings = (lab: LabStack) => ({
  cwd: PROJECT,
  env: { ...process.env, LAB_DIR: lab.folder, LAB_SUBNET: lab.subnet },
});

/** What a person does after an `up` that was killed. */
export function cancel(lab: LabStack): void {
  spawnSync("bash", ["-c", PULUMI, "pulumi", "cancel", "test", "--yes"], settings(lab));
}

/** An `up` whose output can be watched while it runs, so that a fault meets a certain step. */
export class WatchedUp {
  /** What it has printed so far. */
  output = "";
  /** Its exit status; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcess;
  private over = false;
  private readonly watchers = new Set<() => void>();

  constructor(lab: LabStack, ...options: string[]) {
    const words = ["up", "--yes", "--skip-preview", "--non-interactive", "--color", "never"];
    const stack = ["--stack", "test", "--config-file", join(lab.folder, "Pulumi.test.yaml")];
    this.child = spawn("bash", ["-c", PULUMI, "pulumi", ...words, ...stack, ...options], {
      ...settings(lab),
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on("data", (text: Buffer) => {
        this.output += text.toString();
        for (const look of this.watchers) look();
      });
    this.ended = new Promise((resolve) =>
      this.child.on("exit", (status) => {
        this.over = true;
        for (const look of this.watchers) look();
        resolve(status);
      }),
    );
  }

  /** Waits until something was printed; an error when it ends before. */
  async shows(pattern: RegExp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        const found = pattern.test(this.output);
        if (!found && !this.over) return;
        this.watchers.delete(look);
        if (found) resolve();
        else reject(new Error(`up ended before it showed ${String(pattern)}:\n${this.output}`));
      };
      this.watchers.add(look);
      look();
    });
  }

  /** As `kill -9` does it: nothing of the engine can end in order. */
  kill(): void {
    this.child.kill("SIGKILL");
  }
}
