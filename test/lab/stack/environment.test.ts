import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { ask, PROJECT, useLab } from "./lab-stack";
import { interpreterArchive, LocalWheelhouse } from "./wheelhouse";

const LOCK = "lab-sglang-0.5.11";
const UNIT = "proxmox-gpu-stack-environment-ml-env";
const LOG = "/var/lib/proxmox-gpu-stack/work/environment-ml-env.log";

// Bare: hard links do not reach from a saved layer into the one above.
const stack = useLab();
const wheelhouse = new LocalWheelhouse(stack);
afterAll(() => {
  wheelhouse.remove();
});

const setLock = (lock: string) => {
  stack.edit((file) => {
    (file.environments?.["ml-env"] as Record<string, unknown>).lock = lock;
  });
};
const current = () => stack.inContainer("readlink /opt/ml-env").split("/").at(-1) ?? "";
const pid = () => stack.inContainer("systemctl show -P MainPID sglang-qwen");
const kept = () => stack.inContainer("ls /opt/proxmox-gpu-stack/environments/ml-env").split("\n").sort();
const expectCorrectAnswer = async () => {
  expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

function rollback(...words: string[]) {
  const file = join(stack.folder, "Pulumi.test.yaml");
  const result = spawnSync("./stack", ["rollback", file, "ml-env", ...words], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

describe("a stack with a wheelhouse", () => {
  it("is refused by up as long as files are missing: they are named, and the way to bring them", () => {
    wheelhouse.fetch(LOCK, `${LOCK}-next`);
    const python = interpreterArchive(stack, wheelhouse);
    const pinned = wheelhouse.environment("pinned", { python, smokeTest: 'imports = ["sglang"]' });
    stack.edit((file) => {
      delete file.environments;
      delete file.services;
    });
    stack.deploy();
    stack.reset();
    stack.edit((file) => {
      file.wheelhouse = { path: "/srv/wheelhouse" };
      delete (file.environments?.["ml-env"] as Record<string, unknown>).index;
    });
    setLock(pinned);
    const { status, output } = stack.pulumi("up", "--yes", "--skip-preview");
    expect(status).not.toBe(0);
    expect(output).toMatch(/\/srv\/wheelhouse lacks .*sglang-0\.5\.11-py3-none-any\.whl/);
    expect(output).toContain("./stack wheelhouse push STACK");
  });

  it("builds its environment with no network, on a pinned interpreter, once the files are there", async () => {
    const first = wheelhouse.push();
    expect(first).toMatchObject({ status: 0 });
    expect(first.output).toContain("files are on the host and verified");
    // The unit that builds gets a network namespace with nothing in it.
    stack.inContainer(`mkdir -p /etc/systemd/system/${UNIT}.service.d`);
    stack.onHost(
      `pct exec 129 -- sh -c 'printf "[Service]\\nPrivateNetwork=yes\\n" > /etc/systemd/system/${UNIT}.service.d/cut.conf; systemctl daemon-reload'`,
    );
    stack.deploy();
    await expectCorrectAnswer();
    expect(stack.inContainer("/opt/ml-env/bin/python3 -c 'import sys; print(sys.base_prefix)'")).toMatch(
      /^\/opt\/proxmox-gpu-stack\/python-3\.11\.2-/,
    );
    expect(stack.inContainer("findmnt -no OPTIONS /wheelhouse")).toMatch(/^ro\b/);
    expect(wheelhouse.push().output).toContain("has every file");
  });

  it("looks at its files again without reading them, and writes nothing where all is there", () => {
    const work = () =>
      stack.onHost(
        "cat /var/lib/proxmox-gpu-stack/work/wheelhouse.log; stat -c %Y /var/lib/proxmox-gpu-stack/work/wheelhouse.log",
      );
    const before = work();
    stack.onHost("mount --bind /srv/wheelhouse /srv/wheelhouse && mount -o remount,bind,ro /srv/wheelhouse");
    try {
      setLock(LOCK);
      stack.deploy();
      expect(work()).toBe(before);
    } finally {
      stack.onHost("umount /srv/wheelhouse");
    }
  });
});

describe("two locks", () => {
  it("share the files that are the same, by hard links", () => {
    setLock(`${LOCK}-next`);
    wheelhouse.deploy();
    const inodes = stack
      .onHost(
        "pct exec 129 -- sh -c 'stat -c %i /opt/proxmox-gpu-stack/environments/ml-env/*/lib/python3.11/site-packages/prometheus_client/__init__.py'",
      )
      .split("\n");
    expect(inodes).toHaveLength(3);
    expect(new Set(inodes).size).toBe(1);
  });

  it("can be gone back and forth between; nothing is built again", async () => {
    const next = current();
    const log = stack.inContainer(`cat ${LOG}`);
    setLock(LOCK);
    stack.deploy();
    expect(current()).not.toBe(next);
    setLock(`${LOCK}-next`);
    stack.deploy();
    expect(current()).toBe(next);
    expect(stack.inContainer(`cat ${LOG}`)).toBe(log);
    await expectCorrectAnswer();
  });
});

describe("./stack rollback", () => {
  it("lists what is kept, the last used first", () => {
    const { status, output } = rollback("--list");
    expect(status).toBe(0);
    expect(output).toMatch(new RegExp(`^\\* ${current()}.*${LOCK}-next\\n {2}[0-9a-f]{12} .*${LOCK}\\n`));
  });

  it("brings the environment before back within a second, its service healthy, and says how to stay", async () => {
    const next = current();
    const before = pid();
    const { status, output } = rollback();
    expect(output).toContain(`To stay: pulumi config set --path`);
    expect(status).toBe(0);
    expect(Number(/switched in (\d+) ms/.exec(output)?.[1])).toBeLessThan(1000);
    expect(current()).not.toBe(next);
    expect(pid()).not.toBe(before);
    await expectCorrectAnswer();
  });

  it("leaves the next up, with the lock set back, nothing to restart", () => {
    const before = pid();
    setLock(LOCK);
    stack.deploy();
    expect(pid()).toBe(before);
  });

  it("is refused for one that is not kept, with those that are", () => {
    const { status, output } = rollback("--to", "000000000000");
    expect(status).toBe(1);
    expect(output).toContain("is not kept");
    expect(output).toContain("choose one of");
  });
});

describe("old environments", () => {
  it("go when there are more than `keep`, but never one that a process has open", () => {
    const all = kept();
    const oldest = all.find((digest) => digest !== current()) ?? "";
    stack.inContainer(
      `systemd-run --unit hold-it tail -f /opt/proxmox-gpu-stack/environments/ml-env/${oldest}/pyvenv.cfg`,
    );
    stack.edit((file) => {
      (file.environments?.["ml-env"] as Record<string, unknown>).keep = 1;
    });
    setLock(wheelhouse.environment("other", { smokeTest: 'imports = ["prometheus_client"]' }));
    stack.deploy();
    expect(kept()).toContain(oldest);
    expect(kept()).toContain(current());
    stack.inContainer("systemctl stop hold-it");
    setLock(wheelhouse.environment("another", { smokeTest: 'imports = ["orjson"]' }));
    stack.deploy();
    expect(kept()).not.toContain(oldest);
    // The packages of what is left are still in the cache, and only those.
    const archives = stack.onHost(
      "pct exec 129 -- sh -c 'for a in /var/cache/proxmox-gpu-stack/uv/archive-v0/*; do find $a -type f -links +1 -print -quit; done | wc -l; ls /var/cache/proxmox-gpu-stack/uv/archive-v0 | wc -l'",
    );
    expect(new Set(archives.split("\n")).size).toBe(1);
  });
});
