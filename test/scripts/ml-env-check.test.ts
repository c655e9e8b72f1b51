import { mkdirSync, renameSync, symlinkSync, utimesSync } from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

let sandbox: Sandbox;
let built: Date;

/** A complete environment with two packages, as its build leaves it. */
beforeEach(() => {
  sandbox = new Sandbox();
  built = new Date(Date.now() - 60_000);
  install("orjson", "3.13.0", "orjson/__init__.py");
  install("prometheus_client", "0.26.0", "prometheus_client/core.py");
  for (const [name, text] of [
    [".packages", "orjson-3.13.0.dist-info\nprometheus_client-0.26.0.dist-info\n"],
    [".complete", ""],
  ] as const)
    old(sandbox.write(`root/env/abc/${name}`, text));
  symlinkSync(sandbox.path("root/env/abc"), sandbox.path("link"));
});
afterEach(() => {
  sandbox.remove();
});

const SITE = "root/env/abc/lib/python3.11/site-packages";
const old = (path: string): void => {
  utimesSync(path, built, new Date(built.getTime() - 1000));
};

function install(name: string, version: string, file: string): void {
  old(sandbox.write(`${SITE}/${file}`, "x = 1\n"));
  old(sandbox.write(`${SITE}/${name}-${version}.dist-info/RECORD`, `${file},sha256=0,6\n`));
}

const rename = (from: string, to: string): void => {
  renameSync(sandbox.path(from), sandbox.path(to));
};

function differences(): unknown {
  const script = `ROOT=${sandbox.path("root")}\n${scriptText("container/ml-env.sh")}`;
  const args = ["mode=check", "name=env", "digest=abc", `path=${sandbox.path("link")}`];
  const libraries = ["step", "files", "packages", "download", "long-work", "environments"];
  return sandbox.step(libraries, script, args).json["differences"];
}

test("an environment as it was built does not differ, compiled files and caches beside it or not", () => {
  sandbox.write(`${SITE}/orjson/__pycache__/__init__.cpython-311.pyc`, "compiled");
  sandbox.write(`${SITE}/orjson/cache/kernel.json`, "{}");
  expect(differences()).toEqual([]);
});

test("a package of another version is named with both versions", () => {
  rename(`${SITE}/orjson-3.13.0.dist-info`, `${SITE}/orjson-3.12.1.dist-info`);
  sandbox.write(`${SITE}/orjson/__init__.py`, "x = 2\n");
  expect(differences()).toEqual(["package orjson is 3.12.1, the lock has 3.13.0"]);
});

test("packages that came and went are named", () => {
  rename(`${SITE}/prometheus_client-0.26.0.dist-info`, "elsewhere");
  install("requests_toolbelt", "1.0", "requests_toolbelt/a.py");
  expect(differences()).toEqual([
    "package prometheus_client is missing, the lock has 0.26.0",
    "package requests_toolbelt is 1.0, the lock has none",
  ]);
});

test("a file that was edited is named with its package", () => {
  sandbox.write(`${SITE}/prometheus_client/core.py`, "x = 3\n");
  expect(differences()).toEqual(["package prometheus_client has another prometheus_client/core.py"]);
});

test("an environment that was built before packages were recorded is taken as it is", () => {
  rename("root/env/abc/.packages", "elsewhere");
  sandbox.write(`${SITE}/orjson/__init__.py`, "x = 2\n");
  expect(differences()).toEqual([]);
});

test("an environment that is not complete is only not built", () => {
  rename("root/env/abc/.complete", "elsewhere");
  mkdirSync(sandbox.path(`${SITE}/new-1.dist-info`));
  expect(differences()).toEqual(["environment env abc is not built"]);
});
