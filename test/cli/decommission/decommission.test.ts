import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

import { retiredText } from "../../../cli/decommission/retire-file";
import { run } from "../../../cli/main";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { captureOutput, type Printed } from "../captured-output";

const STATE = {
  version: 3,
  deployment: { resources: [{ urn: "urn:a", protect: true }, { urn: "urn:b" }] },
};

jest.setTimeout(60_000);

let folder: string;
let file: string;
let oldPath: string | undefined;
let printed: Printed;

const command = (name: string, body: string) => {
  writeFileSync(path.join(folder, name), `#!/bin/bash\ncd ${folder}\n${body}\n`);
  chmodSync(path.join(folder, name), 0o755);
};

/** The lab's stack away from the project, a pulumi that notes what it is asked, and nobody to be dialled. */
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "decommission-"));
  file = path.join(folder, "Pulumi.old.yaml");
  writeFileSync(
    file,
    readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8").replace("# yaml", "# kept\n# yaml"),
  );
  writeFileSync(path.join(folder, "state.json"), JSON.stringify(STATE));
  command(
    "pulumi",
    `printf '%s\\n' "$*" >>calls
if [[ "$1 $2" == "stack export" ]]; then
  [[ -e state.json ]] || { echo "error: no stack named 'old' found" >&2; exit 255; }
  cat state.json
fi
[[ ! -e fails-$1 ]] || { echo "error: it does not" >&2; exit 255; }`,
  );
  // Whoever dials leaves a trace.
  for (const name of ["ssh", "curl", "ping"]) command(name, `echo ${name} >>dialled; exit 255`);
  oldPath = process.env.PATH;
  process.env.PATH = `${folder}:${oldPath ?? ""}`;
  printed = captureOutput();
});
afterEach(() => {
  process.env.PATH = oldPath;
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const calls = () =>
  existsSync(path.join(folder, "calls")) ? readFileSync(path.join(folder, "calls"), "utf8") : "";
const dialled = () => existsSync(path.join(folder, "dialled"));
const archives = () =>
  existsSync(path.join(folder, "retired")) ? readdirSync(path.join(folder, "retired")) : [];
const decommission = (...words: string[]) => run(["decommission", file, ...words]);

interface Outcome {
  readonly archive: string | null;
  readonly lost: { kind: string; name: string; what: string }[];
  readonly kept: unknown[];
}

describe("a host that is gone", () => {
  it("is given up without dialling it: state archived and removed by force, the file marked and kept", async () => {
    const connect = jest.spyOn(Socket.prototype, "connect");
    expect(await decommission("--dead", "--yes", "old", "--json")).toBe(0);
    expect(dialled()).toBe(false);
    expect(connect).not.toHaveBeenCalled();
    const { archive, lost, kept } = JSON.parse(printed.stdout) as Outcome;
    expect(JSON.parse(readFileSync(archive ?? "", "utf8"))).toEqual(STATE);
    expect(statSync(archive ?? "").mode & 0o777).toBe(0o600);
    expect(calls()).toMatch(/^stack rm --yes --preserve-config --force --stack old /m);
    expect(calls()).not.toMatch(/destroy|refresh|^up /m);
    expect(readFileSync(file, "utf8")).toMatch(/^ {2}proxmox-gpu-stack:retired: "\d{4}-\d\d-\d\d"$/m);
    expect(kept).toEqual([]);
    expect(lost.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "container ml",
      "environment ml-env",
      "service qwen",
      "model qwen36",
    ]);
  });

  it("names what only a backup has: folders that containers wrote", async () => {
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(
        "- { source: /srv/models, target: /models }",
        "- { source: /srv/models, target: /models }\n        - { source: /srv/data, target: /data, readOnly: false }",
      ),
    );
    await decommission("--dead", "--yes", "old");
    expect(printed.stderr).toContain("data /srv/data: written by containers; only a backup of yours has it");
    expect(printed.stderr).toMatch(/container ml: 129, with its root disk \(16 GiB on local-lvm\)/);
  });

  it("may have no state: the file is marked all the same", async () => {
    rmSync(path.join(folder, "state.json"));
    expect(await decommission("--dead", "--yes", "old")).toBe(0);
    expect(calls()).not.toMatch(/stack rm/);
    expect(printed.stdout).toContain("it had no state");
  });

  it("cannot be backed up", async () => {
    expect(await decommission("--dead", "--backup", "local", "--yes", "old")).toBe(3);
    expect(calls()).toBe("");
  });
});

describe("nothing is done without the stack's name", () => {
  it.each([[["--yes", "other"]], [[]]])("%j", async (words) => {
    const before = readFileSync(file, "utf8");
    expect(await decommission("--dead", ...words)).toBe(3);
    expect(printed.stderr).toContain("nothing was changed");
    expect({ calls: calls(), archives: archives(), file: readFileSync(file, "utf8") }).toEqual({
      calls: "",
      archives: [],
      file: before,
    });
  });
});

describe("a host that should be there and does not answer", () => {
  it("is not taken for dead: nothing is archived or removed, and the way on is named", async () => {
    command("ssh", 'echo "ssh: connect to host: Connection refused" >&2; exit 255');
    expect(await decommission("--yes", "old")).toBe(4);
    expect(printed.stderr).toContain("if the host is gone for good: ./stack decommission");
    expect({ calls: calls(), archives: archives() }).toEqual({ calls: "", archives: [] });
    expect(readFileSync(file, "utf8")).not.toContain("retired");
  });
});

/** A host where every step works. */
const HOST = `input=$(cat)
printf '%s\\n' "\${@: -1}" | cut -c1-90 >>dialled
case "\${@: -1}" in
  for*) echo "129 status: running" ;;
  *backup*) echo '{"changed":true,"archive":"/var/lib/vz/dump/vzdump-lxc-129.tar.zst"}' ;;
  *) echo '{"changed":true}' ;;
esac`;

describe("a planned end", () => {
  it("stops the services, backs up, then destroys what was protected, in this order", async () => {
    command("ssh", HOST);
    expect(await decommission("--backup", "local", "--yes", "old", "--json")).toBe(0);
    expect(JSON.parse(printed.stdout)).toMatchObject({
      backups: ["/var/lib/vz/dump/vzdump-lxc-129.tar.zst"],
    });
    const on = readFileSync(path.join(folder, "dialled"), "utf8").split("\n");
    expect(on.findIndex((line) => line.includes("qwen-stop"))).toBeLessThan(
      on.findIndex((line) => line.includes("ml-backup")),
    );
    expect(
      calls()
        .split("\n")
        .map((line) => line.split(" ").slice(0, 3).join(" ")),
    ).toEqual([
      "stack export --stack",
      "state unprotect urn:a",
      "destroy --yes --skip-preview",
      "stack rm --yes",
      "",
    ]);
    expect(calls()).not.toContain("--force");
    expect(archives()).toHaveLength(1);
  });

  it("stops before it destroys when a backup fails", async () => {
    command(
      "ssh",
      HOST.replace("*backup*) ", '*backup*) printf "\\n  cause: no room\\n" >&2; exit 1 ;; *never*) '),
    );
    expect(await decommission("--backup", "local", "--yes", "old")).toBe(1);
    expect(printed.stderr).toContain("no room");
    expect(calls()).toBe("");
  });

  it("that fails to destroy leaves the stack as it is known, and may be run again", async () => {
    command("ssh", HOST);
    writeFileSync(path.join(folder, "fails-destroy"), "");
    expect(await decommission("--yes", "old")).toBe(1);
    expect(calls()).not.toMatch(/stack rm/);
    expect(readFileSync(file, "utf8")).not.toContain("retired");
    rmSync(path.join(folder, "fails-destroy"));
    expect(await decommission("--yes", "old")).toBe(0);
  });
});

describe("the mark in a stack file", () => {
  const TEXT = "# mine\nconfig:\n  # a host\n  proxmox-gpu-stack:host: { node: a }\nencryptionsalt: v1:x\n";

  it("is one key more; comments, order and the salt stay", () => {
    const text = retiredText(TEXT, "2026-11-30");
    expect(text.split("\n").filter((line) => !TEXT.includes(line))).toEqual([
      expect.stringContaining("# Out of service"),
      '  proxmox-gpu-stack:retired: "2026-11-30"',
    ]);
  });

  it("takes the place of an earlier one", () => {
    const twice = retiredText(retiredText(TEXT, "2026-11-29"), "2026-11-30");
    expect(twice.match(/retired: /g)).toHaveLength(1);
    expect(twice).toContain('"2026-11-30"');
  });
});
