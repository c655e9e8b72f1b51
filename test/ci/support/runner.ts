import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { TemporaryCheckout } from "./checkout";
import { filledIn, type Job } from "./workflow";

export interface RunStep {
  readonly name: string;
  readonly status: number;
  readonly output: string;
}

/** Runs the shell steps of a job as GitHub's runner does: bash -e -o pipefail, in the checkout. */
export class Runner {
  private readonly bin: string;
  private readonly summary: string;
  private readonly outputs: string;

  constructor(private readonly checkout: TemporaryCheckout) {
    this.bin = checkout.path(".git/stubs");
    this.summary = checkout.path(".git/summary.md");
    this.outputs = checkout.path(".git/outputs");
    mkdirSync(this.bin);
  }

  /** Puts a program in front of those that are installed. */
  stub(name: string, script: string): void {
    const file = path.join(this.bin, name);
    writeFileSync(file, `#!/usr/bin/env bash\nset -euo pipefail\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** Every `run:` step, up to the first that fails; steps with `!cancelled()` also after one. */
  run(job: Job, values: Readonly<Record<string, string>>): RunStep[] {
    const steps: RunStep[] = [];
    for (const step of job.steps) {
      if (step.run === undefined) continue;
      const failed = steps.some(({ status }) => status !== 0);
      if (failed && !(step.if ?? "").includes("!cancelled()")) continue;
      const environment = Object.entries({ ...job.env, ...step.env }).map(([name, value]) => [
        name,
        filledIn(value, values),
      ]);
      const { status, stdout, stderr } = spawnSync(
        "bash",
        ["--noprofile", "--norc", "-eo", "pipefail", "-c", filledIn(step.run, values)],
        {
          cwd: this.checkout.folder,
          encoding: "utf8",
          env: {
            PATH: `${this.bin}:${process.env["PATH"] ?? ""}`,
            HOME: process.env["HOME"],
            GITHUB_OUTPUT: this.outputs,
            GITHUB_STEP_SUMMARY: this.summary,
            GITHUB_REPOSITORY: "owner/stack",
            ...(Object.fromEntries(environment) as Record<string, string>),
          },
        },
      );
      steps.push({ name: step.name ?? step.run, status: status ?? -1, output: stdout + stderr });
    }
    return steps;
  }

  /** What the steps wrote to GITHUB_OUTPUT. */
  output(name: string): string | undefined {
    const lines = existsSync(this.outputs) ? readFileSync(this.outputs, "utf8").split("\n") : [];
    return lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  }

  /** What the steps wrote to the job's summary. */
  jobSummary(): string {
    return existsSync(this.summary) ? readFileSync(this.summary, "utf8") : "";
  }
}
