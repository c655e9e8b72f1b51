import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describeWith } from "../engine/support/requirement";

const SCRIPT = join(__dirname, "..", "..", "scripts", "ci", "audit-python");
const folder = mkdtempSync(join(tmpdir(), "audit-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The audit of two locks with a stand-in of pipx that answers so. */
function audit(answer: string, status: number) {
  writeFileSync(join(folder, "pipx"), `#!/bin/bash\ncat <<'ANSWER'\n${answer}\nANSWER\nexit ${status}\n`);
  chmodSync(join(folder, "pipx"), 0o755);
  return spawnSync(SCRIPT, ["a/requirements.lock", "b/requirements.lock"], {
    encoding: "utf8",
    env: { ...process.env, PATH: `${folder}:${process.env.PATH ?? ""}` },
  });
}

const CLEAN = { name: "six", version: "1.17.0", vulns: [] };
const ADVISORY = {
  name: "h11",
  version: "0.14.0",
  vulns: [{ id: "GHSA-vqfr-h8mv-ghfj", fix_versions: ["0.16.0"], aliases: [], description: "" }],
};
const LOCAL = { name: "sgl-kernel", skip_reason: "Dependency not found on PyPI" };

const JQ_MISSING =
  spawnSync("jq", ["--version"]).status === 0 ? undefined : "jq is missing; Debian's package jq has it";

describeWith(JQ_MISSING, "the audit of Python locks", () => {
  it("lists advisories by lock, with the version that has none, and fails nothing for them", () => {
    const { status, stdout } = audit(JSON.stringify({ dependencies: [CLEAN, ADVISORY, LOCAL] }), 1);
    expect(status).toBe(0);
    expect(stdout).toContain("### a/requirements.lock\n");
    expect(stdout).toContain("### b/requirements.lock\n");
    expect(stdout).toContain("| h11 | 0.14.0 | GHSA-vqfr-h8mv-ghfj | 0.16.0 |");
    expect(stdout).not.toContain("| six |");
    expect(stdout).toContain("Nobody knows of: sgl-kernel.");
  });

  it("says how many packages have none", () => {
    const { stdout } = audit(JSON.stringify({ dependencies: [CLEAN, LOCAL] }), 0);
    expect(stdout).toContain("No advisories against 1 packages.");
  });

  it.each(["", "Traceback (most recent call last):"])("fails when the answer is %j", (answer) => {
    const { status, stderr } = audit(answer, 1);
    expect(status).toBe(1);
    expect(stderr).toContain("error: a/requirements.lock was not audited");
    expect(stderr).toContain("error: b/requirements.lock was not audited");
  });
});
