import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { PROJECT, type LabStack, type Result } from "./lab-stack";

/** What is not in a user's checkout, or of no use there: other stacks, tests, prose. */
const LEFT_OUT = /^(Pulumi\.[^.]+\.yaml$|test\/|docs\/|bench\/|\.github\/|node_modules$)/;

/** A checkout of the project beside a lab: commands run there as a user types them, and stack files lie beside Pulumi.yaml. */
export class Checkout {
  readonly folder: string;

  constructor(private readonly stack: LabStack) {
    this.folder = join(stack.folder, "checkout");
    this.renew();
  }

  /** The checkout as it comes out of git: stack files and all that was written there are gone. */
  renew(): void {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder);
    const { stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: PROJECT,
      encoding: "utf8",
    });
    for (const name of stdout.split("\0")) {
      if (name === "" || LEFT_OUT.test(name)) continue;
      cpSync(join(PROJECT, name), join(this.folder, name), { verbatimSymlinks: true });
    }
    symlinkSync(join(PROJECT, "node_modules"), join(this.folder, "node_modules"));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), "utf8");
  }

  /**
   * Runs lines of shell here, with the lab's engine on the PATH. Questions of Pulumi's are answered with yes.
   *
   * @param variables of the environment, beside those of the lab
   */
  run(lines: string, variables: Readonly<Record<string, string>> = {}): Result {
    const result = spawnSync("bash", ["-c", `set -e\n. engine/env.sh\n${lines}`], {
      cwd: this.folder,
      env: {
        ...process.env,
        LAB_DIR: this.stack.folder,
        LAB_SUBNET: this.stack.subnet,
        PULUMI_SKIP_CONFIRMATIONS: "true",
        NO_COLOR: "1",
        ...variables,
      },
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    return { status: result.status, output: result.stdout + result.stderr };
  }

  /** The same, where it must work; returns what was printed. */
  must(lines: string, variables: Readonly<Record<string, string>> = {}): string {
    const { status, output } = this.run(lines, variables);
    if (status !== 0) throw new Error(`exit ${status}: ${lines}\n${output}`);
    return output;
  }
}
