import { TestLab } from "../host/test-lab";

jest.setTimeout(600_000);

const lab = new TestLab();
const { subnet } = lab;
const template = "debian-12-standard_12.12-1_amd64.tar.zst";

/** `pct create ID …` with a small disk and an address that ends in the id. */
const create = (id: number, options: string): string =>
  `pct create ${String(id)} local:vztmpl/${template} --rootfs local-lvm:4 --hostname ct${String(id)} ` +
  `--net0 name=eth0,bridge=vmbr0,ip=${subnet}.${String(id)}/24,gw=${subnet}.1 ${options} >/dev/null`;

// One host; the groups use containers of their own, which earlier tests of a group have made.
describe("pct on a lab host", () => {
  const host = (script: string): string => lab.shell("pve1", script).stdout;
  const played = (version: string): string => host(`echo ${version} >/etc/lab/pve-version`);
  /** Waits until a container's own services are up. */
  const settle = (id: number): string =>
    `for n in $(seq 100); do pct exec ${String(id)} -- systemctl is-system-running 2>/dev/null | grep -q running && break; sleep 0.1; done`;

  beforeAll(() => {
    lab.ok("up");
    host(
      `curl -sf -o /var/lib/vz/template/cache/${template} http://${subnet}.1:8080/template/${template}
       mkdir -p /srv/models; echo weights >/srv/models/file; chown -R 100000:100000 /srv/models`,
    );
  });
  afterAll(() => {
    lab.end();
  });

  describe("reaching into a container", () => {
    beforeAll(() => {
      const options = "--unprivileged 1 --features nesting=1 --mp0 /srv/models,mp=/models,ro=1";
      expect(host(`${create(121, `${options} --start 1`)}; echo $?; ${settle(121)}`)).toBe("0\n");
    });

    test.each([0, 1, 2, 127])("exit status %d of a command arrives unchanged", (status) => {
      expect(host(`pct exec 121 -- sh -c 'exit ${String(status)}'; echo $?`)).toBe(`${String(status)}\n`);
    });

    test("a signal arrives as 128 + n, a missing command as 127", () => {
      expect(host("pct exec 121 -- sh -c 'kill -9 $$'; echo $?")).toBe("137\n");
      expect(host("pct exec 121 -- /no/such/command 2>/dev/null; echo $?")).toBe("127\n");
    });

    test("arguments and standard input arrive unchanged", () => {
      const words = `a\\ b '"' "'" '$HOME' 'back\\slash' 'zwei
zeilen' grün`;
      expect(host(`pct exec 121 -- printf '<%s>' ${words}`)).toBe(
        `<a b><"><'><$HOME><back\\slash><zwei\nzeilen><grün>`,
      );
      expect(host("printf 'echo from stdin $1' | pct exec 121 -- bash -s -- word")).toBe("from stdin word\n");
    });

    test("a missing and a stopped container are two different errors", () => {
      expect(host("pct exec 999 -- true; echo $?")).toBe(
        "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n2\n",
      );
      host(create(122, "--unprivileged 1"));
      expect(host("pct exec 122 -- true; echo $?")).toBe("container '122' not running!\n255\n");
      expect(host("pct push 122 /etc/hostname /x; echo $?")).toBe(
        "can only push files to a running CT\n255\n",
      );
      host("pct destroy 122");
    });

    test("the caller's environment leaks in unless --keep-env 0 is given", () => {
      expect(host("LEAK=yes pct exec 121 -- env | grep LEAK")).toBe("LEAK=yes\n");
      const clean = host("LEAK=yes pct exec 121 --keep-env 0 -- env").split("\n").sort();
      expect(clean).toEqual([
        "",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM=linux",
        "container=lxc",
      ]);
    });

    test("a pushed file has the owner and mode asked for", () => {
      const push =
        "echo text >/tmp/f; pct push 121 /tmp/f /root/f --user daemon --group 2 --perms 0640; echo $?";
      expect(host(push)).toBe("0\n");
      expect(host("pct exec 121 -- sh -c 'cat /root/f; stat -c %U:%G:%a /root/f'")).toBe(
        "text\ndaemon:bin:640\n",
      );
    });

    test("a push that fails in its worker ends with 0 all the same", () => {
      expect(host("pct push 121 /tmp/f /no/such/folder/f 2>/dev/null; echo $?")).toBe("0\n");
      expect(host("pct push 121 /no/such/file /root/g 2>/dev/null; echo $?")).toBe("0\n");
    });

    test("root of an unprivileged container is not the host's root", () => {
      expect(host("pct exec 121 -- cat /proc/1/uid_map").trim().split(/\s+/)).toEqual([
        "0",
        "100000",
        "65536",
      ]);
    });

    test("a bind mount is there, read-only", () => {
      const script = "cat /models/file; touch /models/new 2>&1";
      expect(host(`pct exec 121 -- sh -c '${script}'`)).toMatch(
        /^weights\ntouch: .*Read-only file system\n$/,
      );
    });

    test("a container reaches packages as its host does", () => {
      const files = "/etc/apt/apt.conf.d/99labproxy /etc/pip.conf /etc/uv/uv.toml";
      expect(host(`for f in ${files}; do pct exec 121 -- cat $f | cmp - $f && echo same; done`)).toBe(
        "same\n".repeat(3),
      );
    });
  });

  describe("changes of a running container", () => {
    test("a new mount point is there at once", () => {
      expect(
        host(
          "mkdir -p /srv/late; echo late >/srv/late/f; pct set 121 --mp1 /srv/late,mp=/deep/late; echo $?",
        ),
      ).toBe("0\n");
      expect(host("pct exec 121 -- cat /deep/late/f")).toBe("late\n");
    });

    test("a new network is there at once, and gone at once", () => {
      host(`pct set 121 --net1 name=eth1,bridge=vmbr0,ip=${subnet}.171/24`);
      expect(host("pct exec 121 -- ip -br addr show eth1")).toContain(`${subnet}.171/24`);
      host("pct set 121 --delete net1");
      expect(host("pct exec 121 -- ip -br addr")).not.toContain("eth1");
    });

    test("on version 8 a new device waits for the next start", () => {
      host("mknod -m 600 /dev/labx c 1 5; pct set 121 --dev0 /dev/labx,mode=0640,gid=44");
      expect(host("pct pending 121 | grep dev0; pct exec 121 -- ls /dev/labx")).toMatch(
        /^new dev0: \/dev\/labx,mode=0640,gid=44\nls: .*No such file/,
      );
      host("pct reboot 121");
      expect(
        host("pct exec 121 -- stat -c '%a %u %g %t:%T' /dev/labx; grep -c pending /etc/pve/lxc/121.conf"),
      ).toBe("640 0 44 1:5\n0\n");
    });

    test("on version 9 a new device is there at once; a change of it waits", () => {
      played("9.1.1");
      host("mknod -m 600 /dev/laby c 1 5; pct set 121 --dev1 /dev/laby,mode=0666");
      expect(host("pct exec 121 -- sh -c 'stat -c %a /dev/laby; head -c 2 /dev/laby | od -An -tx1'")).toBe(
        "666\n 00 00\n",
      );
      host("pct set 121 --dev1 /dev/laby,mode=0600 --delete dev0");
      expect(host("sed -n '/pending/,$p' /etc/pve/lxc/121.conf")).toBe(
        "[pve:pending]\ndelete: dev0\ndev1: /dev/laby,mode=0600\n",
      );
      host("pct set 121 --revert dev0,dev1");
      expect(host("grep -c pending /etc/pve/lxc/121.conf")).toBe("0\n");
      played("8.4.1");
    });
  });

  describe("starting and stopping", () => {
    test("a missing source of a mount point stops the start", () => {
      expect(host("pct stop 121; mv /srv/late /srv/gone; pct start 121; echo $?; pct status 121")).toMatch(
        /startup for container '121' failed\n255\nstatus: stopped\n$/,
      );
      expect(host("tail -n 1 /var/log/lxc-121.log")).toContain("directory '/srv/late' does not exist");
      expect(host("mv /srv/gone /srv/late; pct start 121; echo $?")).toBe("0\n");
    });

    test("a container that takes long is left running without force and killed with it", () => {
      host(
        `${settle(121)}; pct exec 121 -- systemd-run -q -p TimeoutStopSec=60 -p ExecStop='sleep 30' sleep infinity`,
      );
      expect(host("pct shutdown 121 --timeout 2; echo $?; pct status 121")).toMatch(
        /^command 'lxc-stop .*' failed: exit code \d+\n255\nstatus: running\n$/,
      );
      expect(host("pct shutdown 121 --timeout 2 --forceStop 1; echo $?; pct status 121")).toBe(
        "0\nstatus: stopped\n",
      );
    });

    test("systemd without nesting gives a warning, not a failure", () => {
      host(create(123, "--unprivileged 1"));
      expect(host("pct start 123; echo $?")).toMatch(
        /^WARN: Systemd 252 detected\. You may need to enable nesting\.\n0\n$/,
      );
      host("pct stop 123; pct destroy 123");
    });

    test("a reboot and a power-off inside the container are what they say", () => {
      host(
        `pct start 121; ${settle(121)}; pct exec 121 -- touch /run/gone; pct exec 121 -- systemctl reboot; sleep 1`,
      );
      expect(
        host(`for n in $(seq 50); do pct exec 121 -- test -e /run/gone || break; sleep 0.2; done
        pct status 121; pct exec 121 -- ls /run/gone`),
      ).toMatch(/^status: running\nls: .*No such file/);
      host(`${settle(121)}; pct exec 121 -- systemctl poweroff`);
      expect(
        host(
          "for n in $(seq 50); do pct status 121 | grep -q stopped && break; sleep 0.2; done; pct status 121",
        ),
      ).toBe("status: stopped\n");
    });

    test("a held lock is waited for and then told", () => {
      const lock = "/run/lock/lxc/pve-config-121.lock";
      const held = `flock ${lock} sleep 12 >/dev/null 2>&1 & sleep 0.2; pct set 121 --cores 2; echo $?`;
      expect(host(held)).toContain(
        "can't lock file '/run/lock/lxc/pve-config-121.lock' - got timeout\n255\n",
      );
    });
  });

  describe("a reboot of the host", () => {
    test("starts what has onboot, in order, without the one whose device is gone", () => {
      host(create(131, "--unprivileged 1 --features nesting=1 --onboot 1"));
      host(create(132, "--unprivileged 1 --features nesting=1 --onboot 1 --startup order=1"));
      host(create(133, "--unprivileged 1 --features nesting=1"));
      host("pct set 121 --onboot 1 --startup order=2");
      lab.ok("reboot", "pve1");
      const wait = "systemctl is-active --wait pve-guests >/dev/null 2>&1; sleep 1";
      expect(host(`${wait}; pct list | awk 'NR > 1 {print $1, $2}'`)).toBe(
        "121 stopped\n131 running\n132 running\n133 stopped\n",
      );
      expect(host("journalctl -b -u pve-guests -o cat | grep CT")).toBe(
        "Starting CT 132\nStarting CT 121\nCT 121: Device /dev/labx does not exist\nStarting CT 131\n",
      );
    });

    test("a removed container leaves nothing but what was bind-mounted", () => {
      host("for id in 121 131 132 133; do pct stop $id; pct destroy $id; done");
      expect(host("pct list; ls /var/lib/lxc /var/lib/lab-volumes/local-lvm; cat /srv/models/file")).toMatch(
        /^\/var\/lib\/lab-volumes\/local-lvm:\n\n\/var\/lib\/lxc:\nweights\n$/,
      );
    });
  });
});
