import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../../config/load";

/** A repository of its own with this project's files as they are now, in one commit. */
export class TemporaryCheckout {
  readonly folder = mkdtempSync(path.join(tmpdir(), "checkout-"));

  constructor() {
    const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: PROJECT_DIRECTORY,
      encoding: "utf8",
    }).split("\0");
    for (const file of files) {
      const source = path.join(PROJECT_DIRECTORY, file);
      // Nothing here needs the tests; a file that was deleted is still in git's list.
      if (file === "" || file.startsWith("test/") || !existsSync(source)) continue;
      mkdirSync(path.dirname(this.path(file)), { recursive: true });
      cpSync(source, this.path(file), { verbatimSymlinks: true });
    }
    symlinkSync(path.join(PROJECT_DIRECTORY, "node_modules"), this.path("node_modules"));
    this.git("init", "--quiet", "--initial-branch", "main");
    // The link is no folder, which is what .gitignore names.
    appendFileSync(this.path(".git/info/exclude"), "node_modules\n");
    this.commit("base");
  }

  path(file: string): string {
    return path.join(this.folder, file);
  }

  git(...words: string[]): string {
    return execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...words], {
      cwd: this.folder,
      encoding: "utf8",
    });
  }

  /** Commits everything. */
  commit(message: string): void {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
