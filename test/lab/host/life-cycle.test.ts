import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { cacheFolder } from "../../../cli/cache-folder";
import { run, TestLab } from "./test-lab";

jest.setTimeout(600_000);

const labCache = join(cacheFolder(), "lab");
const bootId = "cat /proc/sys/kernel/random/boot_id";

describe("a lab host's life", () => {
  const lab = new TestLab();
  const host = (script: string) => lab.shell("pve1", script);

  beforeAll(() => lab.ok("up"));
  afterAll(() => {
    lab.end();
    rmSync(join(labCache, "saved/life-cycle-test"), { recursive: true, force: true });
  });

  test("it has the fixed host key and lets root in with the fixed client key", () => {
    const scanned = run("ssh-keyscan", ["-t", "ed25519", `${lab.subnet}.5`]).stdout.split(" ");
    const key = readFileSync(join(__dirname, "../../../lab/keys/host_ed25519.pub"), "utf8").split(" ");
    expect(scanned[2]?.trim()).toBe(key[1]);
  });

  test("it shows its own kernel, modules and messages, not the machine's", () => {
    const result = host("uname -r; cat /proc/sys/kernel/osrelease; cat /proc/cmdline; dmesg");
    expect(result.stdout).toMatch(
      /^6\.8\.12-4-pve\n6\.8\.12-4-pve\nBOOT_IMAGE=\/boot\/vmlinuz-6\.8\.12-4-pve/,
    );
    expect(result.stdout.split("\n").filter((line) => line.startsWith("["))).toHaveLength(1);
  });

  test("it can neither load a module into the machine's kernel nor set its clock", () => {
    const result = host("grep CapBnd /proc/1/status");
    const bounding = BigInt(`0x${result.stdout.split(/\s+/)[1] ?? ""}`);
    const sysModule = 16n;
    const sysTime = 25n;
    expect((bounding >> sysModule) & 1n).toBe(0n);
    expect((bounding >> sysTime) & 1n).toBe(0n);
  });

  test("it reboots when it is told to inside: another boot id, the disk kept, /run gone", () => {
    const before = lab.ok("wait", "pve1").trim();
    host(
      "echo kept >/root/file; touch /run/gone; systemd-run -q --on-active=0.5 --timer-property=AccuracySec=100ms systemctl reboot",
    );
    const after = lab.ok("wait", "pve1", before).trim();
    expect(after).not.toBe(before);
    expect(host(`${bootId}; cat /root/file; ls /run/gone`).stdout).toContain(
      `${after}\nkept\nls: cannot access`,
    );
  });

  test("a host that cannot reach the machine's services, as behind a firewall, is told at once", () => {
    host("ip rule add ipproto tcp dport 8080 unreachable");
    const result = lab.run("up");
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(
      `host 'pve1' cannot reach ${lab.subnet}.1:8080 on this machine: a firewall`,
    );
    host("ip rule del ipproto tcp dport 8080");
    lab.ok("up");
  });

  test("stopping sshd keeps the sessions that are open", () => {
    const result = host(
      "systemctl stop ssh.service ssh.socket 2>/dev/null; sleep 0.5; echo alive; systemctl start ssh.service",
    );
    expect(result.stdout).toContain("alive");
  });

  test("a power loss gives no process a chance, and the disk is as it was", () => {
    host(
      `printf '[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=true\\nExecStop=touch /root/stopped-cleanly\\n' >/etc/systemd/system/witness.service
       systemctl start witness.service; echo written >/root/file`,
    );
    lab.ok("kill", "pve1");
    expect(lab.ok("status")).toMatch(/pve1 .* off/);
    lab.ok("start", "pve1");
    expect(host("cat /root/file; ls /root/stopped-cleanly").stdout).toContain("written\nls: cannot access");
  });

  test("a power-off stops its services and keeps the disk", () => {
    host("systemctl start witness.service");
    lab.ok("power-off", "pve1");
    lab.ok("start", "pve1");
    expect(host("ls /root/stopped-cleanly").status).toBe(0);
  });

  test("other cards are there after the next boot", () => {
    lab.ok("inventory", "pve1", "8x-rtxpro6000");
    expect(host("lspci | grep -c VGA").stdout).toBe("2\n");
    lab.ok("reboot", "pve1");
    expect(host("lspci | grep -c VGA").stdout).toBe("8\n");
  });

  test("an inventory with mistakes is refused with all of them, and nothing changes", () => {
    const file = join(lab.directory, "inventory.json");
    const card = { pci: "0000:41:00.0", uuid: "GPU-1", colour: "red" };
    writeFileSync(file, JSON.stringify({ gpus: [card, card] }));
    const result = lab.run("inventory", "pve1", file);
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("gpus[0].uuid: 'GPU-1' does not match");
    expect(result.stderr).toContain("gpus[1].minor: is missing");
    expect(result.stderr).toContain("gpus[0].colour: is not a field of a card");
    expect(result.stderr).toContain("pci 0000:41:00.0: more than one card has it");
    expect(host("grep -c RTX /etc/lab/gpus.json").stdout).toBe("8\n");
  });

  test("a saved state starts another host under its own name", () => {
    host("echo prepared >/root/state");
    lab.ok("save", "pve1", "life-cycle-test");
    lab.ok("up", "--from", "life-cycle-test", "pve2=7");
    expect(lab.shell("pve2", "hostname; cat /root/state; hostname -I").stdout).toBe(
      `pve2\nprepared\n${lab.subnet}.7 \n`,
    );
    expect(lab.ok("status")).not.toContain("pve1");
  });

  test.each([
    [["up", "--from", "no-such-layer", "pve3"], "there is no saved layer 'no-such-layer'"],
    [["up", "pve3=200"], "'200' is no last octet of a host; it must be 5 to 99"],
    [["up", "pve3=7"], "is another host's"],
    [["up", "Pve_3"], "'Pve_3' is no host name"],
    [["kill", "pve9"], "there is no host 'pve9' in this lab"],
  ])("refuses %j", (args, text) => {
    const result = lab.run(...args);
    expect(result.status).toBe(1);
    // Another build may have to be waited for, which is said before.
    expect(result.stderr.trim().split("\n").pop()).toContain(text);
  });

  test.each([[["fly"]], [["kill"]], [["up", "--form", "x"]]])("used wrongly: %j", (args) => {
    expect(lab.run(...args).status).toBe(3);
  });
});

describe("two labs on a machine", () => {
  test("run side by side, and each takes away everything of its own and nothing else", () => {
    const forwarding = readFileSync("/proc/sys/net/ipv4/ip_forward", "utf8");
    const first = new TestLab();
    const second = new TestLab({}, "192.168.178");
    try {
      first.ok("up", "pve1");
      second.ok("up", "pve1");
      first.shell("pve1", "echo first >/root/file");
      expect(second.shell("pve1", "hostname -I; ls /root/file").stdout).toMatch(
        /^192\.168\.178\.5 \nls: cannot access/,
      );
      expect(readFileSync("/proc/sys/net/ipv4/ip_forward", "utf8")).toBe(forwarding);
      first.ok("down");
      expect(first.traces()).toEqual([]);
      expect(second.shell("pve1", "hostname").stdout).toBe("pve1\n");
    } finally {
      try {
        first.end();
      } finally {
        second.end();
      }
    }
    expect(second.traces()).toEqual([]);
  });

  test("a network that another lab has is refused", () => {
    const first = new TestLab();
    const second = new TestLab({}, first.subnet);
    try {
      first.ok("up");
      const result = second.run("up");
      expect(result.status).toBe(1);
      expect(result.stderr).toContain(`in use by the lab in '${first.directory}'`);
      expect(second.run("down").status).toBe(1);
      expect(first.shell("pve1", "hostname").stdout).toBe("pve1\n");
    } finally {
      first.end();
    }
    second.end();
  });

  test("a killed `lab up` can be repeated, and down leaves nothing after a host was killed from outside", () => {
    const lab = new TestLab();
    try {
      // Wherever the command is after that time: nothing may be left in the way of the second.
      run("timeout", ["-s", "KILL", "2", join(__dirname, "../../../lab/lab"), "up"], {
        env: { LAB_SUBNET: lab.subnet, LAB_DIR: lab.directory },
      });
      lab.ok("up");
      const supervisor = readFileSync(join(lab.directory, "run/hosts/pve1/supervisor.pid"), "utf8").trim();
      process.kill(Number(supervisor), "SIGKILL");
    } finally {
      lab.end();
    }
    expect(lab.traces()).toEqual([]);
  });
});

test("with LAB_DISKS a host's disk lies there: kept over a power loss, part of a saved state, gone after down", () => {
  const disks = mkdtempSync(join(tmpdir(), "lab-disks-"));
  const lab = new TestLab({ LAB_DISKS: disks });
  const place = join(disks, `lab${lab.subnet.replaceAll(".", "-")}-pve1`);
  try {
    lab.ok("up");
    lab.shell("pve1", "echo kept >/root/file; sync /root/file");
    expect(readFileSync(join(place, "disk/root/file"), "utf8")).toBe("kept\n");
    lab.ok("kill", "pve1");
    lab.ok("start", "pve1");
    lab.ok("save", "pve1", "disks-test");
    expect(readdirSync(disks)).toEqual([]);
    lab.ok("up", "--from", "disks-test");
    expect(lab.shell("pve1", "cat /root/file").stdout).toBe("kept\n");
  } finally {
    lab.end();
    rmSync(join(labCache, "saved/disks-test"), { recursive: true, force: true });
  }
  expect(readdirSync(disks)).toEqual([]);
  rmSync(disks, { recursive: true });
});

test("a wrong LAB_SUBNET is refused before anything is touched", () => {
  const directory = mkdtempSync(join(tmpdir(), "lab-test-"));
  for (const subnet of ["10.77", "8.8.8", "10.77.300", "10.77.0.0"]) {
    const result = run(join(__dirname, "../../../lab/lab"), ["up"], {
      env: { LAB_SUBNET: subnet, LAB_DIR: directory },
    });
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(`LAB_SUBNET is '${subnet}'`);
  }
  rmSync(directory, { recursive: true });
});
