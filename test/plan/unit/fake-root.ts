import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const SYSTEM_UNITS = "/usr/lib/systemd/system";

/** Whether this machine has systemd's own checker and the units that ours refer to. */
export const HAS_SYSTEMD =
  spawnSync("systemd-analyze", ["--version"]).status === 0 && existsSync(SYSTEM_UNITS);

/** Programs that units start; the checker wants to see them. */
const PROGRAMS = ["/usr/bin/env", "/opt/ml-env/bin/python3", "/root/ml-env/bin/python3"];

/** A root with only what the checker needs: the system's own units, stubs of the programs, and our files. */
export function withFakeRoot<T>(files: Readonly<Record<string, string>>, use: (root: string) => T): T {
  const root = mkdtempSync(path.join(tmpdir(), "units-"));
  try {
    cpSync(SYSTEM_UNITS, path.join(root, SYSTEM_UNITS), { recursive: true, verbatimSymlinks: true });
    for (const program of PROGRAMS) {
      mkdirSync(path.join(root, path.dirname(program)), { recursive: true });
      writeFileSync(path.join(root, program), "#!/bin/sh\n", { mode: 0o755 });
    }
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(root, file), text);
    }
    return use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Runs systemd-analyze below the root; its exit code is 0 even for unknown keys, so that stderr decides. */
export function analyze(
  root: string,
  ...words: string[]
): { status: number | null; stdout: string; stderr: string } {
  const result = spawnSync("systemd-analyze", [...words.slice(0, 1), `--root=${root}`, ...words.slice(1)], {
    encoding: "utf8",
  });
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}
