import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { scriptText } from "../../plan/script";

export interface BashResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The JSON object of the last line, where there is one. */
  readonly json: Record<string, unknown>;
}

/** A folder of a test's own, with stand-ins for commands on the PATH. */
export class Sandbox {
  readonly folder = mkdtempSync(join(tmpdir(), "step-test-"));
  private readonly bin = join(this.folder, "bin");

  constructor() {
    mkdirSync(this.bin);
  }

  /** Puts a shell script in the place of a command. */
  command(name: string, body: string): void {
    const path = join(this.bin, name);
    writeFileSync(path, `#!/bin/bash\n${body}\n`);
    chmodSync(path, 0o755);
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  write(name: string, text: string): string {
    const path = this.path(name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Runs a step made of the libraries and of `script`, as `bash -s` gets it. */
  step(libraries: readonly string[], script: string, args: readonly string[] = [], prelude = ""): BashResult {
    const input = [
      "set -euo pipefail",
      prelude === "" ? "declare -A FILES=() SECRETS=()" : prelude,
      ...libraries.map((name) => scriptText(`lib/${name}.sh`)),
      // The frame sets a fixed PATH, as on a machine; the stand-ins go in front of it here.
      `export() { builtin export "$@"; PATH=${this.bin}:$PATH; }`,
      // What is at work is noted in a folder that only root may write.
      `AT_WORK=${this.path("at-work")}`,
      script,
      'step_main "$@" </dev/null',
    ].join("\n");
    const result = spawnSync("bash", ["-s", "--", "test-step", ...args], {
      input,
      encoding: "utf8",
      timeout: 60_000,
    });
    const last = result.stdout.trimEnd().split("\n").at(-1) ?? "";
    return {
      status: result.status,
      stdout: result.stdout,
      stderr: result.stderr,
      json: last.startsWith("{") ? (JSON.parse(last) as Record<string, unknown>) : {},
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
