import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PROJECT, type LabStack, type Result } from "./lab-stack";

interface HeldFile {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

interface Package extends HeldFile {
  readonly pin: string;
}

/** What an environment of a test has beside the lab's own packages. */
interface Extras {
  readonly packages?: readonly Package[];
  /** The smoke test as lines of TOML. */
  readonly smokeTest?: string;
  /** Archive of an interpreter. */
  readonly python?: HeldFile;
}

const BASE = join(PROJECT, "environments", "lab-sglang-0.5.11");

/** A wheelhouse on the test's machine, and environments that only this test has (git ignores `environments/tmp-*`). */
export class LocalWheelhouse {
  readonly folder = mkdtempSync(join(tmpdir(), "lab-wheelhouse-"));
  private readonly environments: string[] = [];

  constructor(private readonly stack: LabStack) {}

  /** Fetches the files of locks from the lab's index. */
  fetch(...locks: string[]): void {
    for (const lock of locks) {
      const result = this.cli(
        "wheelhouse",
        "fetch",
        lock,
        "--index",
        `http://${this.stack.subnet}.1:3141/simple`,
      );
      if (result.status !== 0) throw new Error(result.output);
    }
  }

  /** Puts a file in. */
  hold(path: string, name: string): HeldFile {
    const content = readFileSync(path);
    const sha256 = createHash("sha256").update(content).digest("hex");
    mkdirSync(join(this.folder, "files", sha256), { recursive: true });
    copyFileSync(path, join(this.folder, "files", sha256, name));
    return { name, sha256, bytes: content.length };
  }

  /** Makes a wheel of Python modules. */
  wheel(name: string, version: string, modules: Readonly<Record<string, string>>): Package {
    const script = join(__dirname, "make_wheel.py");
    const made = spawnSync("python3", [script, name, version, this.folder, JSON.stringify(modules)], {
      encoding: "utf8",
    });
    if (made.status !== 0) throw new Error(made.stderr);
    const file = `${name}-${version}-py3-none-any.whl`;
    return { ...this.hold(join(this.folder, file), file), pin: `${name}==${version}` };
  }

  /** Writes environments/tmp-<name>: the lab's packages, its smoke test, and the extras. */
  environment(name: string, { packages = [], smokeTest = "", python }: Extras): string {
    const lock = `tmp-${name}`;
    const folder = join(PROJECT, "environments", lock);
    this.environments.push(folder);
    mkdirSync(folder, { recursive: true });
    const pins = packages.map(({ pin, sha256 }) => `${pin} \\\n    --hash=sha256:${sha256}\n`);
    const base = readFileSync(join(BASE, "requirements.lock"), "utf8").replace(/^# inputs: .*\n/m, "");
    writeFileSync(join(folder, "requirements.lock"), base + pins.join(""));
    const listed = JSON.parse(readFileSync(join(BASE, "wheelhouse.json"), "utf8")) as { files: HeldFile[] };
    const extra = [...packages, ...(python === undefined ? [] : [python])];
    const files = [...listed.files, ...extra.map(({ name, sha256, bytes }) => ({ name, sha256, bytes }))];
    writeFileSync(join(folder, "wheelhouse.json"), JSON.stringify({ files }));
    const table =
      python === undefined
        ? ""
        : `[tool.proxmox-gpu-stack.python]\nversion = "3.11.2"\nurl = "http://${this.stack.subnet}.1/${python.name}"\nsha256 = "${python.sha256}"\n`;
    writeFileSync(
      join(folder, "pyproject.toml"),
      `[project]\nname = "${lock}"\nversion = "1"\ndependencies = []\n[tool.proxmox-gpu-stack.smoke-test]\n${smokeTest}\n${table}`,
    );
    return lock;
  }

  /** `./stack wheelhouse push`. */
  push(): Result {
    return this.cli("wheelhouse", "push", join(this.stack.folder, "Pulumi.test.yaml"));
  }

  /** `push` that must work, and then the stack. */
  deploy(): void {
    const { status, output } = this.push();
    if (status !== 0) throw new Error(output);
    this.stack.deploy();
  }

  remove(): void {
    for (const folder of [this.folder, ...this.environments])
      rmSync(folder, { recursive: true, force: true });
  }

  private cli(...words: string[]): Result {
    const result = spawnSync("./stack", [...words, "--dir", this.folder], { cwd: PROJECT, encoding: "utf8" });
    return { status: result.status, output: result.stdout + result.stderr };
  }
}

/**
 * An archive of the shape "install_only" (python/bin, python/lib) from the lab host's own Debian interpreter: what
 * python-build-standalone publishes cannot be had in the lab. Debian's needs libz and libexpat of the container.
 */
export function interpreterArchive(stack: LabStack, wheelhouse: LocalWheelhouse): HeldFile {
  const text = stack.onHost(`
    set -e
    folder=$(mktemp -d)
    mkdir -p $folder/python/bin $folder/python/lib
    cp /usr/bin/python3.11 $folder/python/bin/
    ln -s python3.11 $folder/python/bin/python3
    cp -a /usr/lib/python3.11 $folder/python/lib/
    rm -f $folder/python/lib/python3.11/sitecustomize.py
    find $folder -name __pycache__ -prune -exec rm -rf {} +
    tar -C $folder -cz python | base64 -w0`);
  const name = "cpython-3.11.2-stand-in-install_only.tar.gz";
  const path = join(wheelhouse.folder, name);
  writeFileSync(path, Buffer.from(text, "base64"));
  return wheelhouse.hold(path, name);
}
