import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { run, TestLab } from "./test-lab";

jest.setTimeout(60_000);

const labCommand = resolve(__dirname, "../../../lab/lab");
const cgroups = existsSync("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";

/** `lab check` on a machine that lacks something: a shell script takes it away, in namespaces of its own. */
function checkWithout(script: string, env: Record<string, string> = {}) {
  const command = ["--mount", "--net", "--propagation", "private", "bash", "-ec", `${script}`, labCommand];
  return run("unshare", command, { env: { LAB_SUBNET: "10.78.29", LAB_DIR: "/tmp/lab-check-test", ...env } });
}

describe("lab check", () => {
  test("says nothing where nothing is missing, and leaves nothing", () => {
    const lab = new TestLab();
    const result = lab.run("check");
    expect(result).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(lab.traces()).toEqual([]);
    lab.end();
  });

  test.each([
    [
      "root",
      'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" check',
      "root: run the lab as root",
    ],
    [
      "a program",
      'mount -t tmpfs tmpfs /mnt; ln -s /usr/bin/* /mnt; ln -sf /usr/sbin/* /mnt; rm /mnt/mmdebstrap; PATH=/mnt exec "$0" check',
      "mmdebstrap: apt-get install mmdebstrap",
    ],
    [
      "a writable cgroup hierarchy",
      `mount -o remount,ro,bind ${cgroups}; exec "$0" check`,
      `a writable cgroup v2 hierarchy: mkdir in ${cgroups} fails`,
    ],
    [
      "the cgroup v2 hierarchy",
      `mount -t tmpfs tmpfs ${cgroups}; exec "$0" check`,
      `the cgroup v2 hierarchy: ${cgroups} is 'tmpfs'`,
    ],
    ["device nodes", 'exec setpriv --bounding-set -mknod "$0" check', "device nodes: mknod"],
    [
      "a free network",
      'ip link add other type bridge; ip address add 10.78.29.7/24 dev other; ip link set other up; exec "$0" check',
      "a free network: this machine has a route to 10.78.29.0/24 already",
    ],
    [
      "memory",
      "sed 's/^MemAvailable:.*/MemAvailable: 100000 kB/' /proc/meminfo >/tmp/lab-check-meminfo; " +
        'mount --bind /tmp/lab-check-meminfo /proc/meminfo; rm /tmp/lab-check-meminfo; exec "$0" check',
      "memory: 97 MiB are available, 3000 MiB are needed",
    ],
  ])("names %s when only that is missing", (_name, script, text) => {
    const result = checkWithout(script);
    expect(result.stdout).toContain(`missing: ${text}`);
    expect(result.stdout.trim().split("\n")).toHaveLength(1);
    expect(result.status).toBe(1);
  });

  test("names a cache folder that cannot be made", () => {
    const result = checkWithout('exec "$0" check', { PROXMOX_GPU_STACK_CACHE: "/proc/none" });
    expect(result.stdout).toContain("missing: a writable cache folder: /proc/none/lab cannot be made");
    expect(result.status).toBe(1);
  });

  test("names everything at once without the right to make namespaces, one line for each", () => {
    const result = checkWithout('exec setpriv --bounding-set -sys_admin,-net_admin "$0" check');
    const lines = result.stdout.trim().split("\n");
    expect(lines.every((line) => line.startsWith("missing: "))).toBe(true);
    for (const kind of ["mount", "uts", "ipc", "pid", "net", "cgroup"]) {
      expect(result.stdout).toContain(`missing: ${kind} namespaces`);
    }
    expect(result.stdout).toContain("missing: overlay mounts");
    expect(result.status).toBe(1);
  });

  test("`lab up` refuses for the same reason before it builds or starts anything", () => {
    const cache = join("/tmp", `lab-check-cache-${process.pid}`);
    const result = checkWithout(
      'setpriv --bounding-set -mknod "$0" up || { ls "$1"; exit 1; }'.replace('"$1"', cache),
      {
        PROXMOX_GPU_STACK_CACHE: cache,
      },
    );
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("missing: device nodes");
    expect(result.stderr).toContain("this machine cannot run the lab as it is");
    expect(result.stdout.trim()).toBe("lab");
    expect(run("rm", ["-r", cache, "/tmp/lab-check-test"]).status).toBe(0);
  });
});
