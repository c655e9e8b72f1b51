import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const WORKER = [
  "#!/bin/bash",
  "set -euo pipefail",
  ...["lib/download.sh", "lib/wheelhouse.sh", "tools/wheelhouse-keep"].map(scriptText),
].join("\n");

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
  mkdirSync(sandbox.path("house"));
});
afterEach(() => {
  sandbox.remove();
});

/** Where a file with that content belongs. */
const place = (name: string, content: string) => sandbox.path("house", "files", sha256(content), name);

function hold(folder: string, name: string, content: string, written = content): void {
  const path = sandbox.path(folder, "files", sha256(content), name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, written);
}

/** Runs the worker for files of these contents. */
function keep(files: Record<string, string>, mirror = "") {
  const lines = Object.entries(files).map(
    ([name, content]) => `${sha256(content)} ${content.length} ${name}\n`,
  );
  const list = sandbox.write("list", lines.join(""));
  const worker = sandbox.write("worker", WORKER);
  const { status, stdout, stderr } = spawnSync(
    "bash",
    [worker, sandbox.path("house"), list, sandbox.path("verified"), mirror, sandbox.path("problem")],
    { encoding: "utf8" },
  );
  const problem = sandbox.path("problem");
  return {
    status,
    output: stdout + stderr,
    problem: existsSync(problem) ? readFileSync(problem, "utf8") : "",
  };
}

describe("keeping a wheelhouse", () => {
  it("hashes each file once, until its time changes", () => {
    hold("house", "a.whl", "content");
    expect(keep({ "a.whl": "content" })).toMatchObject({ status: 0, output: "verifying a.whl\n" });
    expect(keep({ "a.whl": "content" })).toMatchObject({ status: 0, output: "" });
    utimesSync(place("a.whl", "content"), 1, 1);
    expect(keep({ "a.whl": "content" }).output).toBe("verifying a.whl\n");
  });

  it("names every file that is missing, and the way on", () => {
    const { status, problem } = keep({ "a.whl": "one", "b.whl": "two" });
    expect(status).toBe(1);
    expect(problem).toMatch(/lacks a\.whl, b\.whl\n.*\.\/stack wheelhouse push STACK/);
  });

  it("takes away what is not what its address says, and names it as damaged", () => {
    hold("house", "a.whl", "content", "CONTENT");
    const { status, problem } = keep({ "a.whl": "content" });
    expect(status).toBe(1);
    expect(problem).toContain("lacks a.whl; damaged, so of no use: a.whl");
    expect(existsSync(place("a.whl", "content"))).toBe(false);
  });

  it("counts a file of another size as damaged without reading it", () => {
    hold("house", "a.whl", "content", "cont");
    const { output, problem } = keep({ "a.whl": "content" });
    expect(output).not.toContain("verifying");
    expect(problem).toContain("damaged");
  });

  it("shortens a long list of names", () => {
    const names = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`p${i}.whl`, `content ${i}`]));
    expect(keep(names).problem).toContain("p7.whl and 4 more");
  });

  it("fetches what is missing from a mirror of the same layout, readable for containers", () => {
    hold("mirror", "a+cu130.whl", "content");
    const result = keep({ "a+cu130.whl": "content" }, `file://${sandbox.path("mirror")}`);
    expect(result).toMatchObject({ status: 0, problem: "" });
    const path = place("a+cu130.whl", "content");
    expect(readFileSync(path, "utf8")).toBe("content");
    expect(statSync(path).mode & 0o777).toBe(0o644);
  });

  it("refuses a mirror's file of another content", () => {
    hold("mirror", "a.whl", "content", "CONTENT");
    const { status, problem } = keep({ "a.whl": "content" }, `file://${sandbox.path("mirror")}`);
    expect(status).toBe(1);
    expect(problem).toContain("the file was thrown away");
    expect(existsSync(place("a.whl", "content"))).toBe(false);
  });
});

describe("receiving pushed files", () => {
  const receive = (input: string) =>
    spawnSync("bash", ["-c", scriptText("tools/wheelhouse-receive"), "receive", sandbox.path("house")], {
      input,
      encoding: "utf8",
    });

  it("stores each under its address once it is whole and right", () => {
    const { status, stdout } = receive(`${sha256("one")} 3 a.whl\none${sha256("two!")} 4 b.whl\ntwo!`);
    expect([status, stdout]).toEqual([0, "stored a.whl\nstored b.whl\n"]);
    expect(readFileSync(place("b.whl", "two!"), "utf8")).toBe("two!");
  });

  it("keeps nothing of a file that was cut off, and everything before it", () => {
    const { status, stderr } = receive(`${sha256("one")} 3 a.whl\none${sha256("two!")} 4 b.whl\ntw`);
    expect(status).toBe(1);
    expect(stderr).toContain("in the middle of b.whl");
    expect(existsSync(place("a.whl", "one"))).toBe(true);
    expect(existsSync(`${place("b.whl", "two!")}.partial`)).toBe(false);
  });

  it("refuses a file of another content", () => {
    const { status, stdout } = receive(`${sha256("one")} 3 a.whl\nONE`);
    expect([status, stdout]).toEqual([1, "damaged a.whl\n"]);
  });
});

describe("environments in a container", () => {
  /** Runs commands with the library, on a folder of the test. */
  const run = (commands: string, prelude = "") =>
    sandbox.step(
      ["step", "environments"],
      `ROOT=${sandbox.path("root")}; RECORDS=${sandbox.path("records")}; PACKAGE_CACHE=${sandbox.path("cache")}
       step_check() { differs once; }
       step_apply() { ${commands}; DIFFERENCES=(); step_check() { :; }; }`,
      ["name=env", `path=${sandbox.path("link")}`],
      prelude === "" ? undefined : prelude,
    );
  const environment = (digest: string, time: number) => {
    const file = sandbox.write(`root/env/${digest}/.complete`, "lock\n");
    utimesSync(file, time, time);
  };

  it("are kept in the order of their last use; what is half built goes", () => {
    for (const [digest, time] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ] as const)
      environment(digest, time);
    sandbox.write("root/env/half/pyvenv.cfg", "");
    const { stderr, status } = run("switch_to a; remove_old 1; say kept: $(kept) current: $(current)");
    expect(stderr).toContain("removing old environment b");
    expect(stderr).toContain("kept: a c current: a");
    expect(existsSync(sandbox.path("root/env/half"))).toBe(false);
    expect(status).toBe(0);
  });

  it("stay when a service's record names them", () => {
    for (const [digest, time] of [
      ["a", 1],
      ["b", 2],
    ] as const)
      environment(digest, time);
    sandbox.write("records/qwen/environment", sandbox.path("root/env/b"));
    expect(run("switch_to a; remove_old 0; say kept: $(kept)").stderr).toContain("kept: a b");
  });

  it("take their part of the cache with them, and nothing that another one links to", () => {
    for (const [digest, time] of [
      ["a", 1],
      ["b", 2],
    ] as const)
      environment(digest, time);
    sandbox.write("cache/uv/archive-v0/used/x.py", "");
    sandbox.write("cache/uv/archive-v0/unused/y.py", "");
    sandbox.write("cache/uv/wheels-v9/pointer-1", "…unused…");
    sandbox.write("cache/uv/wheels-v9/pointer-2", "…used…");
    spawnSync("ln", [sandbox.path("cache/uv/archive-v0/used/x.py"), sandbox.path("root/env/a/x.py")]);
    run("switch_to a; remove_old 0");
    expect(existsSync(sandbox.path("cache/uv/archive-v0/used"))).toBe(true);
    expect(existsSync(sandbox.path("cache/uv/archive-v0/unused"))).toBe(false);
    expect(existsSync(sandbox.path("cache/uv/wheels-v9/pointer-1"))).toBe(false);
  });
});
