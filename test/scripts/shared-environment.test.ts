import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

const DIGEST = "0123456789ab";
const SOURCE = `containers/env/${DIGEST}`;
const SITE = `${SOURCE}/lib/python3.11/site-packages`;
const SHARE = `house/environments/${DIGEST}`;

let sandbox: Sandbox;

/** A complete environment in a container; the stand-in for lxc-attach runs commands right here. */
beforeEach(() => {
  sandbox = new Sandbox();
  old(sandbox.write(`${SITE}/orjson/__init__.py`, "x = 1\n"));
  sandbox.write(`${SOURCE}/pyvenv.cfg`, "home = /usr/bin\nrelocatable = true\n");
  sandbox.write(`${SOURCE}/bin/python3`, `#!/bin/sh\nmkdir -p ${sandbox.path(SITE)}/orjson/__pycache__\n`);
  chmodSync(sandbox.path(SOURCE, "bin/python3"), 0o755);
  sandbox.write(`${SOURCE}/.packages`, "orjson-3.13.0.dist-info\n");
  sandbox.write(`${SOURCE}/.complete`, "lock\n");
  sandbox.write("house/files/readme", "");
  sandbox.command("lxc-attach", 'shift 4; exec "$@"');
});
afterEach(() => {
  sandbox.remove();
});

const old = (path: string): void => {
  utimesSync(path, 1000, 1000);
};

function share(mode = "apply", extra: readonly string[] = []) {
  const script = scriptText("host/environment-share.sh")
    .replace(
      "IN_CONTAINERS=/opt/proxmox-gpu-stack/environments",
      `IN_CONTAINERS=${sandbox.path("containers")}`,
    )
    .replaceAll("/etc/pve/lxc/", `${sandbox.path("lxc")}/`)
    .replaceAll("/run/lock/", `${sandbox.folder}/`);
  const args = [
    `mode=${mode}`,
    "vmid=129",
    "name=env",
    `digest=${DIGEST}`,
    `wheelhouse=${sandbox.path("house")}`,
  ];
  return sandbox.step(["step", "shared-environment", "in-container"], script, [
    ...args,
    `wanted=${DIGEST}`,
    ...extra,
  ]);
}

describe("sharing an environment", () => {
  it("copies it whole, compiled, readable and not writable, and is done then", () => {
    expect(share().json).toMatchObject({ changed: true, shared: true, reason: "" });
    expect(readFileSync(sandbox.path(SHARE, "lib/python3.11/site-packages/orjson/__init__.py"), "utf8")).toBe(
      "x = 1\n",
    );
    expect(existsSync(sandbox.path(SHARE, "lib/python3.11/site-packages/orjson/__pycache__"))).toBe(true);
    expect(readdirSync(sandbox.path("house/environments"))).toEqual([DIGEST]);
    expect(share().json).toMatchObject({ changed: false });
  });

  it("sees a file that was changed or is gone, and copies again", () => {
    share();
    sandbox.write(`${SHARE}/lib/python3.11/site-packages/orjson/__init__.py`, "x = 22\n");
    expect(share("check").json["differences"]).toHaveLength(1);
    expect(share().json).toMatchObject({ changed: true });
    expect(readFileSync(sandbox.path(SHARE, "lib/python3.11/site-packages/orjson/__init__.py"), "utf8")).toBe(
      "x = 1\n",
    );
  });

  it("refuses what was edited in the container since it was built", () => {
    const late = sandbox.write(`${SITE}/orjson/__init__.py`, "x = 3\n");
    utimesSync(late, new Date(Date.now() + 10_000), new Date(Date.now() + 10_000));
    const { status, stderr } = share();
    expect(status).toBe(1);
    expect(stderr).toContain("orjson/__init__.py in container 129 is not what was built");
    expect(existsSync(sandbox.path(SHARE))).toBe(false);
  });

  it("takes no rights over, and refuses what is no file", () => {
    chmodSync(sandbox.path(SOURCE, "bin/python3"), 0o4777);
    share();
    expect(statSync(sandbox.path(SHARE, "bin/python3")).mode & 0o7777).toBe(0o755);
    rmSync(sandbox.path(SHARE), { recursive: true });
    spawnSync("mkfifo", [sandbox.path(SOURCE, "lib/pipe")]);
    expect(share().stderr).toContain("lib/pipe has no place in a Python environment");
    expect(existsSync(sandbox.path(SHARE))).toBe(false);
  });

  it.each([
    ["was built to stay where it is", () => sandbox.write(`${SOURCE}/pyvenv.cfg`, "home = /usr/bin\n")],
    ["has only links to it", () => symlinkSync("/nowhere", sandbox.path(SOURCE, ".shared"))],
    ["MiB free", () => sandbox.command("df", "echo Avail; echo 0")],
  ])("is left, with the reason, where the environment %s", (reason, change) => {
    change();
    const { json } = share();
    expect(json).toMatchObject({ changed: false, shared: false });
    expect(json["reason"]).toContain(reason);
    expect(existsSync(sandbox.path(SHARE))).toBe(false);
  });
});

describe("a shared environment that the stack has no more", () => {
  const EARLIER = "house/environments/ba9876543210";
  const link = () => {
    sandbox.write("containers/other/ba9876543210/.complete", "lock\n");
    symlinkSync(
      "/wheelhouse/environments/ba9876543210/.complete",
      sandbox.path("containers/other/ba9876543210/.shared"),
    );
  };
  beforeEach(() => {
    sandbox.write(`${EARLIER}/.complete`, "");
    sandbox.write("lxc/129.conf", `mp0: ${sandbox.path("house")},mp=/wheelhouse,ro=1\n`);
  });

  it("is removed where nobody uses it", () => {
    share();
    expect(readdirSync(sandbox.path("house/environments"))).toEqual([DIGEST]);
  });

  it("stays where the stack is about to link to it", () => {
    share("apply", ["wanted=ba9876543210"]);
    expect(existsSync(sandbox.path(EARLIER))).toBe(true);
  });

  it("stays where a container links to it", () => {
    link();
    share();
    expect(existsSync(sandbox.path(EARLIER))).toBe(true);
  });

  it("stays where a container that has the wheelhouse is stopped and cannot be asked", () => {
    sandbox.write("lxc/130.conf", `mp0: ${sandbox.path("house")},mp=/wheelhouse,ro=1\n`);
    sandbox.command("lxc-attach", '[[ $2 != 130 ]] || exit 255; shift 4; exec "$@"');
    share();
    expect(existsSync(sandbox.path(EARLIER))).toBe(true);
  });

  it("goes with its step, where nobody uses it", () => {
    share();
    share("remove");
    expect(readdirSync(sandbox.path("house/environments"))).toEqual([]);
  });
});

describe("the check of an environment that is shared", () => {
  const differences = () => {
    const script = scriptText("container/ml-env.sh").replace(
      "/wheelhouse/environments",
      sandbox.path("house/environments"),
    );
    const args = ["mode=check", "name=env", `digest=${DIGEST}`, `path=${sandbox.path("link")}`];
    const libraries = [
      "step",
      "files",
      "packages",
      "download",
      "long-work",
      "environments",
      "shared-environment",
    ];
    return sandbox.step(libraries, `ROOT=${sandbox.path("root")}\n${script}`, args).json["differences"];
  };
  beforeEach(() => {
    share();
    for (const name of [".complete", ".packages"]) sandbox.write(`root/env/${DIGEST}/${name}`, "");
    symlinkSync(sandbox.path(SHARE, "lib"), sandbox.path(`root/env/${DIGEST}/lib`));
    symlinkSync(sandbox.path(SHARE, ".complete"), sandbox.path(`root/env/${DIGEST}/.shared`));
    symlinkSync(sandbox.path(`root/env/${DIGEST}`), sandbox.path("link"));
  });

  it("finds nothing where it is as it was copied", () => {
    expect(differences()).toEqual([]);
  });

  it.each([
    ["a file of it changed", () => sandbox.write(`${SHARE}/pyvenv.cfg`, "home = /elsewhere\n")],
    ["it has a file more", () => sandbox.write(`${SHARE}/lib/new.py`, "")],
    ["it is not complete", () => sandbox.write(`${SHARE}/.complete`, "")],
  ])("says that it is not as it was copied where %s", (_, change) => {
    change();
    expect(differences()).toEqual([
      `the shared environment ${sandbox.path(SHARE)} is gone or not as it was copied`,
    ]);
  });
});
