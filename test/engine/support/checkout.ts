import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

const ROOT = join(__dirname, "../../..");

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The folders of PATH; without the lab's engine, which is there in a shell that has sourced engine/env.sh. */
const pathWithoutPulumi = (): string[] =>
  (process.env.PATH ?? "").split(delimiter).filter((folder) => !existsSync(join(folder, "pulumi")));

/** A copy of what engine/install needs, with a home, a cache and a PATH of its own. */
export class Checkout {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "checkout-")));

  constructor() {
    for (const path of ["engine", "scripts/lib", "package.json"]) {
      cpSync(join(ROOT, path), this.path("root", path), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), this.path("root/node_modules"));
    mkdirSync(this.path("home"));
    mkdirSync(this.path("bin"));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  has(...parts: string[]): boolean {
    return existsSync(this.path(...parts));
  }

  read(...parts: string[]): string {
    return readFileSync(this.path(...parts), "utf8");
  }

  /** Change the text of a file. */
  edit(path: string, change: (text: string) => string): void {
    writeFileSync(this.path(path), change(this.read(path)));
  }

  /** An executable bash script. */
  script(path: string, text: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), `#!/usr/bin/env bash\n${text}\n`);
    chmodSync(this.path(path), 0o755);
  }

  /** Run a bash command line in the checkout. @param onStart is given a way to interrupt it, as Ctrl-C does */
  bash(command: string, onStart: (interrupt: () => void) => void = () => undefined): Promise<Run> {
    const child = spawn("bash", ["-c", command], {
      cwd: this.path("root"),
      detached: true,
      env: {
        HOME: this.path("home"),
        PATH: [this.path("bin"), ...pathWithoutPulumi()].join(delimiter),
        PROXMOX_GPU_STACK_CACHE: this.path("cache"),
        FAKE_GO_FOLDER: this.folder,
      },
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (data: Buffer) => (output.stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (output.stderr += data.toString()));
    onStart(() => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
    });
    return new Promise((resolve) => child.on("close", (code) => resolve({ code, ...output })));
  }

  install(onStart?: (interrupt: () => void) => void): Promise<Run> {
    return this.bash("engine/install", onStart);
  }
}
