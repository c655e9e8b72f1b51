/** How a stack's files looked before: a folder made by `render --out`, or a revision of this repository. */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../config/load";
import { UsageError } from "../exit-codes";
import type { Files } from "./file-diffs";
import { git, mergeBase } from "./git";
import type { Before } from "./rendered-comment";

/** Every file below a folder. */
export function readFolder(folder: string): Files {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(folder, file), readFileSync(file, "utf8")];
    }),
  );
}

/** Files that `file:` checksums name and git does not keep, such as the lab's: both sides must have the same. */
function copyChecksumFiles(stackFile: string, tree: string): void {
  for (const [, named] of readFileSync(path.join(tree, stackFile), "utf8").matchAll(/\bfile:([^\s"',}]+)/g)) {
    const target = path.join(tree, named ?? "");
    const source = path.join(PROJECT_DIRECTORY, named ?? "");
    if (existsSync(target) || !existsSync(source) || !target.startsWith(`${tree}/`)) continue;
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(source, target);
  }
}

/** The packages of this checkout, where the revision wants the same ones; else its own `./stack` installs its own. */
function sharePackages(tree: string): void {
  const lock = (folder: string): string | undefined => {
    const file = path.join(folder, "package-lock.json");
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  if (lock(tree) === lock(PROJECT_DIRECTORY))
    symlinkSync(path.join(PROJECT_DIRECTORY, "node_modules"), path.join(tree, "node_modules"));
}

/** Writes a revision's files into a folder; nothing is noted in the repository, so nothing can be left behind there. */
function checkOut(revision: string, tree: string): void {
  mkdirSync(tree);
  const { status, stderr } = spawnSync(
    "bash",
    ["-c", 'set -o pipefail; git archive "$1" | tar --extract --directory "$2"', "bash", revision, tree],
    { cwd: PROJECT_DIRECTORY, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`revision ${revision} cannot be written to ${tree}: ${stderr.trim()}`);
}

/** Renders a stack at a revision by that revision's own program, from that revision's own files. */
function atRevision(stackFile: string, base: string): Before {
  const revision = mergeBase(base);
  const name = `\`${base}\` (\`${revision.slice(0, 12)}\`)`;
  if (!git("cat-file", "-e", `${revision}:./${stackFile}`).ok)
    return { name, files: undefined, reason: `it has no ${stackFile}` };
  const folder = mkdtempSync(path.join(tmpdir(), "proxmox-gpu-stack-base-"));
  try {
    const tree = path.join(folder, "tree");
    const out = path.join(folder, "out");
    checkOut(revision, tree);
    if (!existsSync(path.join(tree, "stack"))) return { name, files: undefined, reason: "it has no ./stack" };
    copyChecksumFiles(stackFile, tree);
    sharePackages(tree);
    const { status, stderr } = spawnSync(path.join(tree, "stack"), ["render", stackFile, "--out", out], {
      cwd: tree,
      encoding: "utf8",
    });
    if (status === 0) return { name, files: readFolder(out) };
    return {
      name,
      files: undefined,
      reason: `its own program does not render it (${stderr.trim().split("\n")[0] ?? ""})`,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The rendering that a comparison starts from.
 *
 * @param stackFile absolute path of the stack file
 * @param base folder of an earlier rendering, or a revision: then the point where this branch left it is meant, as in a pull request
 * @throws UsageError when it is neither
 */
export function renderedBefore(stackFile: string, base: string): Before {
  if (existsSync(base) && statSync(base).isDirectory()) {
    if (!existsSync(path.join(base, "steps.md")))
      throw new UsageError(`--diff ${base} is a folder without steps.md: no rendering is in it`);
    return { name: `the folder \`${base}\``, files: readFolder(base) };
  }
  const relative = path.relative(PROJECT_DIRECTORY, stackFile);
  if (relative.startsWith(".."))
    throw new UsageError(
      `${stackFile} is not in this repository, so no revision has it: name a folder that render --out made`,
    );
  return atRevision(relative, base);
}
