/** The playbook of ansible/, and the Ansible that runs it: installed from its hashed lock into the cache. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { cacheFolder } from "../cli/cache-folder";
import { shellWord } from "../plan/script";

const FOLDER = join(__dirname, "ansible");

function must(command: string, words: readonly string[]): void {
  const { status } = spawnSync(command, words, { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`${command} ${words.join(" ")} ended with ${status}`);
}

/** Folder with Ansible's programs; made when it is not there yet. */
export function installAnsible(): string {
  const lock = join(FOLDER, "requirements.lock");
  const digest = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), "bench", `ansible-${digest}`);
  const complete = join(folder, ".complete");
  if (!existsSync(complete)) {
    process.stderr.write(`installing Ansible in ${folder}\n`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(cacheFolder(), "bench"), { recursive: true });
    must("python3", ["-m", "venv", folder]);
    must(join(folder, "bin", "pip"), ["install", "--quiet", "--require-hashes", "--no-deps", "-r", lock]);
    writeFileSync(complete, "");
  }
  return join(folder, "bin");
}

/**
 * The playbook as a command line. Its connections stay for a minute, as Ansible's do for everybody.
 *
 * @param controls folder of the connections' sockets; a new one means that nobody is connected yet
 */
export function playbook(controls: string, ...words: string[]): string {
  const variables = `ANSIBLE_CONFIG=ansible.cfg ANSIBLE_SSH_CONTROL_PATH_DIR=${shellWord(controls)}`;
  const command = [join(installAnsible(), "ansible-playbook"), "site.yaml", ...words]
    .map(shellWord)
    .join(" ");
  return `cd ${shellWord(FOLDER)} && ${variables} ${command}`;
}
