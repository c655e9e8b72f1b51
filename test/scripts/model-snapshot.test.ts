import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { inspectStackFile } from "../../config/load";
import { planModels } from "../../plan/model-steps";
import { scriptText } from "../../plan/script";
import { Sandbox, type BashResult } from "./bash";

const PROJECT = join(__dirname, "..", "..");
const TOKEN = "hf_secret";

/** The tool's own files, as they travel with the step. */
const texts = (() => {
  const { config } = inspectStackFile(join(PROJECT, "Pulumi.lab.yaml"));
  return (config && planModels(config, PROJECT)[0]?.step.texts) ?? {};
})();

let sandbox: Sandbox;

/** A machine with systemd's commands as stand-ins: units run at once; what they got is kept. */
beforeEach(() => {
  sandbox = new Sandbox();
  sandbox.command(
    "systemctl",
    `case $1 in
       is-active) [[ -e ${sandbox.path("active")} ]] ;;
       stop) echo "$2" >>${sandbox.path("stopped")}; rm ${sandbox.path("active")} ;;
       show) [[ $* == *Result* ]] && cat ${sandbox.path("result")} 2>/dev/null || echo inactive ;;
     esac`,
  );
  sandbox.command(
    "systemd-run",
    `echo "$*" >${sandbox.path("unit")}
     stat -c %a ${sandbox.path("run")}/*/*.token >${sandbox.path("mode")} 2>/dev/null
     cat ${sandbox.path("run")}/*/*.token >${sandbox.path("seen")} 2>/dev/null
     while [[ $1 == --* ]]; do
       [[ $1 != --property=StandardOutput=append:* ]] || log=\${1#*append:}
       shift
     done
     if "$@" >>"$log" 2>&1; then echo success; else echo exit-code; fi >${sandbox.path("result")}`,
  );
});

afterEach(() => {
  sandbox.remove();
});

const DATA = "the weights";

/** A declared model of one file; by default a person has put it into its folder already. */
function declare(changes: object = {}): string {
  const path = sandbox.path("models", "tiny");
  if (!existsSync(path)) {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "weights"), DATA);
  }
  const sha256 = createHash("sha256").update(DATA).digest("hex");
  const files = [{ path: "weights", bytes: DATA.length, sha256 }];
  return JSON.stringify({
    repo: "lab/tiny",
    revision: "0".repeat(40),
    path,
    endpoint: "http://127.0.0.1:9",
    files,
    facts: null,
    ...changes,
  });
}

function step(specification: string, ...more: string[]): BashResult {
  const here = (text: string) =>
    text.replace(/\/(usr\/local\/lib|var\/lib|run)\/proxmox-gpu-stack/g, (_, place: string) =>
      sandbox.path(place, "stack"),
    );
  const travelling = Object.entries({ ...texts, "snapshot.json": specification })
    .map(([name, text]) => `[${here(name)}]='${text.replaceAll("'", `'\\''`)}'`)
    .join(" ");
  return sandbox.step(
    ["step", "files", "packages"],
    here([scriptText("lib/long-work.sh"), scriptText("host/model-snapshot.sh")].join("\n")),
    [
      "name=tiny",
      "repo=lab/tiny",
      `revision=${"0".repeat(40)}`,
      `path=${sandbox.path("models", "tiny")}`,
      ...more,
    ],
    `declare -A FILES=(${travelling}) SECRETS=([huggingFaceToken]=${TOKEN})`,
  );
}

describe("the step of a model", () => {
  it("takes over what lies there, tells how much it is, and has nothing to do afterwards", () => {
    const first = step(declare());
    expect(first.json).toMatchObject({ changed: true, files: 1, bytes: expect.any(Number) as number });
    expect(step(declare()).json).toMatchObject({ changed: false });
    expect(step(declare(), "mode=check").json).toMatchObject({ differences: [] });
  });

  it("gives the token to the download in a file of root alone, that is gone when it has read it", () => {
    step(declare());
    expect(readFileSync(sandbox.path("mode"), "utf8").trim()).toBe("600");
    expect(readFileSync(sandbox.path("seen"), "utf8")).toBe(TOKEN);
    const unit = readFileSync(sandbox.path("unit"), "utf8");
    const file = /--token-file (\S+)/.exec(unit)?.[1];
    expect(file).toBe(sandbox.path("run", "stack", "model-tiny.token"));
    expect(existsSync(file as string)).toBe(false);
    expect(unit).not.toContain(TOKEN);
  });

  it("ends with the tool's own cause and way on", () => {
    const path = sandbox.write("models/file", "no folder");
    const { status, stderr } = step(declare({ path }), `path=${path}`);
    expect(status).toBe(1);
    expect(stderr).toContain(
      `cause: the snapshot of lab/tiny is not complete: ${path} is not a folder\n  next:  move it away\n`,
    );
  });

  it("stops a download of something else, and joins one of the same without a second token", () => {
    const digest = sandbox.path("var/lib", "stack", "work", "model-tiny.digest");
    sandbox.write("active", "");
    sandbox.write("var/lib/stack/work/model-tiny.digest", "another");
    step(declare());
    expect(readFileSync(sandbox.path("stopped"), "utf8").trim()).toBe("proxmox-gpu-stack-model-tiny");
    expect(readFileSync(digest, "utf8")).toMatch(/^\w{64}$/);
    // The same again, while it is at work: nothing is started and no token is written.
    writeFileSync(sandbox.path("models", "tiny", "weights"), "touched");
    sandbox.write("active", "");
    sandbox.write("unit", "none");
    sandbox.write("result", "exit-code");
    step(declare());
    expect(readFileSync(sandbox.path("unit"), "utf8")).toBe("none");
    expect(existsSync(sandbox.path("run", "stack", "model-tiny.token"))).toBe(false);
  });

  it("finds damage by hash where it is asked to", () => {
    step(declare());
    const weights = sandbox.path("models", "tiny", "weights");
    // The size and, to the nanosecond, the time stay.
    const program = [
      "import os, sys",
      "before = os.stat(sys.argv[1])",
      "os.chmod(sys.argv[1], 0o644)",
      "open(sys.argv[1], 'w').write('x' * before.st_size)",
      "os.utime(sys.argv[1], ns=(before.st_atime_ns, before.st_mtime_ns))",
    ].join("\n");
    execFileSync("python3", ["-c", program, weights]);
    expect(step(declare(), "mode=check").json).toMatchObject({ differences: [] });
    expect(step(declare(), "mode=check", "hash=yes").json).toMatchObject({
      differences: [expect.stringContaining("weights: damaged") as string],
    });
  });

  it("leaves the files and takes its own away when it is removed", () => {
    step(declare());
    const { stderr } = step(declare(), "mode=remove");
    expect(stderr).toContain(`kept on`);
    expect(existsSync(sandbox.path("models", "tiny", "weights"))).toBe(true);
    expect(existsSync(sandbox.path("usr/local/lib", "stack", "model_snapshot"))).toBe(false);
  });
});
