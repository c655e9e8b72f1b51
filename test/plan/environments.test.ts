import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse } from "yaml";

import { inspectStack } from "../../config/load";
import { stepCommand } from "../../plan/script";
import { planStack } from "../../plan/stack";

const PROJECT = join(__dirname, "..", "..");
const LOCK = "lab-sglang-0.5.11";

type Entry = Record<string, unknown>;
let project: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "plan-environments-"));
  mkdirSync(join(project, "environments"));
  for (const name of [LOCK, "uv.lock.txt", "uv.wheelhouse.json"])
    cpSync(join(PROJECT, "environments", name), join(project, "environments", name), { recursive: true });
});
afterEach(() => {
  rmSync(project, { recursive: true });
});

const path = (name: string) => join(project, "environments", LOCK, name);

/** The lab's stack with a wheelhouse, as it is inspected and planned. */
function inspection(change: (file: Record<string, Entry>) => void = () => undefined) {
  const text = readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8").replaceAll(/file:\S+/g, "a".repeat(64));
  const { config } = parse(text) as { config: Record<string, unknown> };
  const file = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  ) as Record<string, Entry>;
  file.wheelhouse = { path: "/srv/wheelhouse" };
  change(file);
  const raw = Object.fromEntries(
    Object.entries(file).map(([key, value]) => [
      `proxmox-gpu-stack:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  return inspectStack(raw, { source: "test", projectDirectory: project });
}

function plan(change?: (file: Record<string, Entry>) => void) {
  const { config, problems } = inspection(change);
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return planStack(config, project);
}

const digest = () => plan().environments[0]?.digest;
const ids = (change?: (file: Record<string, Entry>) => void) =>
  inspection(change).problems.map(({ id }) => id);

describe("the content address of an environment", () => {
  it.each([
    ["the lock", () => writeFileSync(path("requirements.lock"), "sglang==0.5.11\n")],
    [
      "the smoke test",
      () =>
        writeFileSync(
          path("pyproject.toml"),
          readFileSync(path("pyproject.toml"), "utf8").replace('"orjson"', '"json"'),
        ),
    ],
    [
      "a pinned interpreter",
      () =>
        writeFileSync(
          path("pyproject.toml"),
          `${readFileSync(path("pyproject.toml"), "utf8")}\n[tool.proxmox-gpu-stack.python]\nversion = "3.11.9"\nurl = "http://192.0.2.1/cpython.tar.gz"\nsha256 = "${"b".repeat(64)}"\n`,
        ),
    ],
    ["uv", () => writeFileSync(join(project, "environments", "uv.lock.txt"), "uv==0.0.1\n")],
  ])("changes with %s", (_, change) => {
    const before = digest();
    change();
    expect(digest()).not.toBe(before);
  });

  it("does not change with the wheelhouse", () => {
    expect(digest()).toBe(plan((file) => delete file.wheelhouse).environments[0]?.digest);
  });
});

describe("a stack with a wheelhouse", () => {
  it("names every file of its locks and uv, for the host and for the build, by content", () => {
    const { wheelhouse, environments } = plan();
    const files = wheelhouse?.texts.files?.split("\n") ?? [];
    expect(files.some((line) => /^[0-9a-f]{64} \d+ uv-.*x86_64.*\.whl$/.test(line))).toBe(true);
    expect(files.some((line) => / sglang-0\.5\.11-py3-none-any\.whl$/.test(line))).toBe(true);
    expect(environments[0]?.step.texts.files).toBe(wheelhouse?.texts.files);
  });

  it("mounts it read-only into containers that hold environments, and into no other", () => {
    const mounts = plan((file) => {
      const ml = file.containers?.ml as Entry;
      file.containers = {
        ml,
        other: { ...ml, vmId: 130, gpus: [], network: { address: "10.77.0.130/24", gateway: "10.77.0.1" } },
      };
    }).containers.map((container) =>
      stepCommand(container.attach).includes("/srv/wheelhouse:/wheelhouse:ro"),
    );
    expect(mounts).toEqual([true, false]);
  });

  it("has no such step, mount or list without the key", () => {
    const { wheelhouse, environments, containers } = plan((file) => delete file.wheelhouse);
    expect(wheelhouse).toBeUndefined();
    expect(environments[0]?.step.texts.files).toBeUndefined();
    expect(containers.map(({ attach }) => attach.args.mounts).join()).not.toContain("wheelhouse");
  });

  it("is refused for a mount of somebody else in its place", () => {
    const mount = { source: "/srv/other", target: "/wheelhouse" };
    expect(ids((file) => ((file.containers?.ml as Entry).mounts as Entry[]).push(mount))).toContain(
      "wheelhouse-mount",
    );
  });

  it("blocks an up when a lock's files were never listed", () => {
    rmSync(path("wheelhouse.json"));
    const found = inspection().problems.find(({ id }) => id === "wheelhouse-list-missing");
    expect(found).toMatchObject({ severity: "warning", blocksUp: true, fix: `./stack pin ${LOCK}` });
  });

  it("refuses an interpreter of another version than the environment names", () => {
    writeFileSync(
      path("pyproject.toml"),
      `${readFileSync(path("pyproject.toml"), "utf8")}\n[tool.proxmox-gpu-stack.python]\nversion = "3.12.1"\nurl = "http://192.0.2.1/cpython.tar.gz"\nsha256 = "${"b".repeat(64)}"\n`,
    );
    expect(ids()).toContain("interpreter-version");
  });
});
