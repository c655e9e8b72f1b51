import { spawnSync } from "node:child_process";
import { join } from "node:path";

const SCRIPT = join(__dirname, "stand-ins.sh");

type Built =
  { readonly languageHost: string; readonly commandProvider: string } | { readonly missing: string };

let built: Built | undefined;

/** The script's exit status where there is no Go. */
const NO_GO = 3;

/** Built once a test file; the script knows the rest. @throws when they do not build */
function build(): Built {
  const { status, stdout, stderr } = spawnSync(SCRIPT, { encoding: "utf8" });
  const [languageHost, commandProvider] = (stdout ?? "").split("\n");
  if (status === 0 && languageHost && commandProvider) return { languageHost, commandProvider };
  const reason = (stderr ?? "").trim() || `${SCRIPT} did not run`;
  if (status === NO_GO) return { missing: reason };
  throw new Error(reason);
}

/** Why there are no stand-ins to test; undefined when there are. They are built where they have to be. */
export function standInsMissing(): string | undefined {
  built ??= build();
  return "missing" in built ? built.missing : undefined;
}

/** The executables. @throws when there are none */
export function standIns(): { languageHost: string; commandProvider: string } {
  built ??= build();
  if ("missing" in built) throw new Error(built.missing);
  return built;
}
