import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { cacheFolder } from "../../../cli/cache-folder";
import { takeNetwork } from "../network";
import { run } from "./test-lab";

jest.setTimeout(600_000);

const labFolder = resolve(__dirname, "../../../lab");
const cache = cacheFolder();

/** Folders of the built pieces with this name. */
const pieces = (folder: string, piece: string): string[] =>
  readdirSync(join(folder, "lab")).filter((name) => name.startsWith(`${piece}-`));

/** When a piece of the shared cache was used last. */
const modified = (piece: string): number => statSync(join(cache, "lab", piece)).mtimeMs;

// On a copy of the sources and of the cache, so that a change and an interruption harm nobody.
describe("building the lab", () => {
  const work = mkdtempSync(join(tmpdir(), "lab-build-test-"));
  const ownCache = join(work, "cache");
  const sources = join(work, "sources");
  const env = {
    PROXMOX_GPU_STACK_CACHE: ownCache,
    LAB_SUBNET: takeNetwork(work),
    LAB_DIR: join(work, "state"),
  };
  const build = () => run(join(sources, "lab/lab"), ["build"], { env, timeoutSeconds: 900 });

  beforeAll(() => {
    expect(
      run(join(labFolder, "lab"), ["build"], { env: { ...env, PROXMOX_GPU_STACK_CACHE: cache } }).status,
    ).toBe(0);
    mkdirSync(join(ownCache, "lab"), { recursive: true });
    for (const piece of ["template", "host", "kernel", "driver"]) {
      const newest = pieces(cache, piece).sort((one, other) => modified(other) - modified(one))[0] ?? "";
      run("cp", ["-a", join(cache, "lab", newest), join(ownCache, "lab")]);
    }
    mkdirSync(join(sources, "scripts"), { recursive: true });
    cpSync(labFolder, join(sources, "lab"), { recursive: true });
    cpSync(resolve(labFolder, "../scripts/lib"), join(sources, "scripts/lib"), { recursive: true });
  });
  afterAll(() => {
    rmSync(work, { recursive: true });
  });

  test("killed in the middle, it leaves no process and no mount, and the next one finishes", async () => {
    const child = spawn(join(sources, "lab/lab"), ["build"], {
      env: { ...process.env, ...env },
      stdio: "ignore",
    });
    const ended = new Promise((done) => child.once("exit", done));
    const started = Date.now();
    while (!existsSync(join(ownCache, "lab/work/tree/usr")) && Date.now() - started < 60_000) {
      await new Promise((done) => setTimeout(done, 20));
    }
    // In the middle of the topmost layer.
    await new Promise((done) => setTimeout(done, 500));
    child.kill("SIGKILL");
    await ended;
    await new Promise((done) => setTimeout(done, 500));
    expect(pieces(ownCache, "system")).toEqual([]);
    expect(existsSync(join(ownCache, "lab/work"))).toBe(true);
    expect(run("cat", ["/proc/self/mountinfo"]).stdout).not.toContain(work);
    expect(run("ps", ["-eo", "args"]).stdout).not.toContain(work);

    const again = build();
    expect(again.status).toBe(0);
    expect(again.stderr).toContain("installing the Proxmox and GPU stand-ins");
    expect(pieces(ownCache, "system")).toHaveLength(1);
    expect(existsSync(join(ownCache, "lab/work"))).toBe(false);
  });

  test("with nothing changed it takes seconds and says nothing", () => {
    const before = Date.now();
    const result = build();
    expect(result).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(Date.now() - before).toBeLessThan(10_000);
  });

  const change = (): void => {
    run("bash", ["-c", `echo '# changed' >>${join(sources, "lab/gpu/labkernel/pci.py")}`]);
  };

  test("a changed input makes what depends on it anew, and only the last old piece stays", () => {
    const first = { system: pieces(ownCache, "system"), kernel: pieces(ownCache, "kernel") };
    change();
    expect(build().status).toBe(0);
    expect(pieces(ownCache, "system")).toHaveLength(2);
    change();
    expect(build().status).toBe(0);
    expect(pieces(ownCache, "system")).toHaveLength(2);
    expect(pieces(ownCache, "system")).not.toEqual(expect.arrayContaining(first.system));
    expect(pieces(ownCache, "kernel")).toEqual(first.kernel);
  });

  test("a host that runs keeps its layers through builds of newer ones", () => {
    expect(run(join(sources, "lab/lab"), ["up"], { env, timeoutSeconds: 900 }).status).toBe(0);
    const used = readFileSync(join(env.LAB_DIR, "run/hosts/pve1/lower"), "utf8").split("/tree")[0] ?? "";
    // As another lab would build: the running host is not one of its own.
    const other = { ...env, LAB_SUBNET: takeNetwork(work), LAB_DIR: join(work, "other") };
    for (let builds = 0; builds < 2; builds++) {
      change();
      expect(run(join(sources, "lab/lab"), ["build"], { env: other, timeoutSeconds: 900 }).status).toBe(0);
    }
    expect(pieces(ownCache, "system")).toHaveLength(3);
    expect(existsSync(used)).toBe(true);
    const alive = run(join(sources, "lab/lab"), ["shell", "pve1", "ls /usr/share/lab-pve"], { env });
    expect(alive.stdout).toContain("labpve");
    expect(run(join(sources, "lab/lab"), ["down"], { env }).status).toBe(0);
    expect(build().status).toBe(0);
    expect(pieces(ownCache, "system")).toHaveLength(2);
    expect(existsSync(used)).toBe(false);
  });

  test("a failing build says what failed and leaves the cache as it was", () => {
    const before = readdirSync(join(ownCache, "lab")).sort();
    run("bash", [
      "-c",
      `printf '#!/bin/sh\\necho no room >&2\\nexit 1\\n' >${join(sources, "lab/pve/install")}`,
    ]);
    const result = build();
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("no room");
    expect(result.stderr).toContain("installing the Proxmox and GPU stand-ins failed");
    const after = readdirSync(join(ownCache, "lab")).filter((name) => name !== "work");
    expect(after.sort()).toEqual(before);
  });
});
