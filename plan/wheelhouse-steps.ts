import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { readEnvironmentFolder, type WheelhouseFile } from "../config/environment-folder";
import type { StackConfig } from "../config/schema";
import { scriptText } from "./script";
import { HOST, step, type Step } from "./step";

type ListedFile = Pick<WheelhouseFile, "name" | "sha256" | "bytes">;

/** The wheel of uv, which builds environments and therefore comes before them. */
export function uvFiles(projectDirectory: string): ListedFile[] {
  const file = path.join(projectDirectory, "environments", "uv.wheelhouse.json");
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, "utf8")) as { files: ListedFile[] }).files;
}

/** All that one lock needs: its packages, its interpreter and uv. Empty for a lock whose files were never listed. */
export function filesOfLock(lock: string, projectDirectory: string): ListedFile[] {
  const { files } = readEnvironmentFolder(lock, projectDirectory);
  return files === undefined ? [] : [...files, ...uvFiles(projectDirectory)];
}

/** A list as scripts read it: one "SHA256 BYTES NAME" a line, each once. */
export function fileList(files: readonly ListedFile[]): string {
  return [...new Set(files.map(({ sha256, bytes, name }) => `${sha256} ${bytes} ${name}`))].sort().join("\n");
}

/** The step that keeps the host's wheelhouse complete; undefined for a stack without one. */
export function planWheelhouse(config: StackConfig, projectDirectory: string): Step | undefined {
  const { wheelhouse } = config;
  if (wheelhouse === undefined) return undefined;
  const locks = [...new Set(Object.values(config.environments).map(({ lock }) => lock))].sort();
  const files = locks.flatMap((lock) => filesOfLock(lock, projectDirectory));
  const worker = ["lib/download.sh", "lib/wheelhouse.sh", "tools/wheelhouse-keep"].map(scriptText);
  return step({
    name: "wheelhouse-files",
    target: HOST,
    script: "host/wheelhouse",
    args: { path: wheelhouse.path, mirror: wheelhouse.mirror ?? "" },
    texts: {
      files: fileList(files),
      "wheelhouse-keep": ["#!/bin/bash", "set -euo pipefail", ...worker].join("\n\n"),
    },
    timeoutMinutes: 1440,
    removable: true,
    summary: `every file of the locks ${locks.join(", ")} in ${wheelhouse.path}, verified`,
  });
}
