import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TestLab } from "../host/test-lab";
import { ApiClient, Caller, nobody, Parameters, token } from "./api-client";

jest.setTimeout(600_000);

const lab = new TestLab();
const { subnet } = lab;
const template = "debian-12-standard_12.12-1_amd64.tar.zst";
const file = "lab-12_amd64.tar.zst";
const url = `http://${subnet}.1:8080/template/${template}`;
const publicKey = readFileSync(join(__dirname, "../../../lab/keys/client_ed25519.pub"), "utf8").trim();

/** What an answer (status, status line and body) must contain, or how a task must end. */
type Check = readonly [name: string, call: string, sent: Parameters, expected: string];

const container: Parameters = {
  arch: "amd64",
  cmode: "tty",
  console: 1,
  cores: 2,
  cpulimit: 0,
  description: "made by iac",
  features: "fuse=0,keyctl=0,nesting=1,mknod=0",
  hostname: "apict",
  memory: 1024,
  net0: `bridge=vmbr0,firewall=0,ip=${subnet}.150/24,gw=${subnet}.1,name=eth0`,
  onboot: 1,
  ostemplate: `local:vztmpl/${file}`,
  ostype: "debian",
  protection: 0,
  rootfs: "volume=local-lvm:8",
  "ssh-public-keys": publicKey,
  start: 1,
  storage: "local-lvm",
  swap: 0,
  tags: "gpu;ML",
  template: 0,
  tty: 2,
  unprivileged: 1,
  vmid: 150,
};
const nullDevice = "deny-write=0,path=/dev/null,uid=0,gid=0,mode=0666";
const download: Parameters = {
  content: "vztmpl",
  filename: file,
  node: "pve1",
  storage: "local",
  "verify-certificates": 1,
  url,
};
const CT = "NODE/lxc/150";

// One host; the tests go from nothing to a destroyed container and depend on each other.
describe("the API of a lab host", () => {
  const api = new ApiClient(`${subnet}.5`, "pve1");
  const rootToken = token("root@pam!iac", "11111111-2222-3333-4444-555555555555");
  const auditor = token("audit@pve!ro", "11111111-2222-3333-4444-777777777777");
  let root: Caller = nobody;

  beforeAll(async () => {
    lab.ok("up");
    root = await api.logIn("root@pam", "lab-root-pw");
  });
  afterAll(() => {
    lab.end();
  });

  const checks = (title: string, who: () => Caller, table: readonly Check[]): void => {
    test.each(table)(`${title}: %s`, async (_name, call, sent, expected) => {
      const answer = await api.call(who(), call, sent);
      expect(`${String(answer.status)} ${answer.reason} ${JSON.stringify(answer.body)}`).toContain(expected);
    });
  };
  const tasks = (title: string, table: readonly Check[]): void => {
    test.each(table)(`${title}: %s`, async (_name, call, sent, expected) => {
      expect((await api.task(root, call, sent)).status).toContain(expected);
    });
  };

  checks("without credentials", () => nobody, [
    ["nothing is answered", "GET /version", {}, "401 No ticket"],
    [
      "a wrong password is refused",
      "POST /access/ticket",
      { username: "root@pam", password: "x" },
      "401 authentication failure",
    ],
  ]);
  checks("with half credentials", () => ({ Cookie: String(root["Cookie"]) }), [
    ["a ticket alone reads", "GET /version", {}, "200 OK"],
    ["but does not write", "POST NODE/lxc", {}, "401 Permission denied - invalid csrf token"],
  ]);
  checks("with a forged ticket", () => ({ Cookie: `${String(root["Cookie"])}x` }), [
    ["nothing is answered", "GET /version", {}, "401 permission denied - invalid PVE ticket"],
  ]);

  checks("the node", () => root, [
    ["tells its version", "GET /version", {}, '"version":"8.4.1"'],
    ["is in the list", "GET /nodes", {}, '"node":"pve1"'],
    ["tells its network", "GET NODE/network", {}, `"cidr":"${subnet}.5/24"`],
    ["shows its cards", "GET NODE/hardware/pci", {}, "0x2230"],
    ["is the only one", "GET /nodes/nope/status", {}, "500 hostname lookup 'nope' failed"],
    ["knows no other calls", "GET NODE/nope", {}, "501 Method 'GET /nodes/pve1/nope' not implemented"],
    ["has a free id", "GET /cluster/nextid", {}, '"data":"100"'],
  ]);

  checks("a download", () => root, [
    [
      "is described by its server",
      "GET NODE/query-url-metadata",
      { url, "verify-certificates": 1 },
      `"filename":"${template}"`,
    ],
    [
      "of a missing file is told",
      "GET NODE/query-url-metadata",
      { url: `http://${subnet}.1:8080/nope` },
      "500 invalid server response: '404",
    ],
    [
      "needs a storage",
      "POST NODE/storage/nope/download-url",
      { content: "vztmpl", filename: file, url },
      "500 storage 'nope' does not exist",
    ],
    [
      "needs a fitting name",
      "POST NODE/storage/local/download-url",
      { content: "vztmpl", filename: "x.zip", url },
      "400 Parameter verification failed",
    ],
    [
      "needs a storage of files",
      "POST NODE/storage/local-lvm/download-url",
      { content: "vztmpl", filename: file, url },
      "can't upload to storage type 'lvmthin'",
    ],
  ]);
  tasks("a download", [
    [
      "with a wrong checksum fails",
      "POST NODE/storage/local/download-url",
      { ...download, checksum: "00", "checksum-algorithm": "sha256" },
      "checksum mismatch",
    ],
  ]);
  test("a download: with the right checksum arrives", async () => {
    const sums = readFileSync(join(lab.directory, "SHA256SUMS"), "utf8");
    const checksum =
      sums
        .split("\n")
        .find((line) => line.endsWith(template))
        ?.slice(0, 64) ?? "";
    const sent = { ...download, checksum, "checksum-algorithm": "sha256" };
    expect((await api.task(root, "POST NODE/storage/local/download-url", sent)).status).toBe("OK");
  });
  tasks("a download", [
    [
      "does not replace a file",
      "POST NODE/storage/local/download-url",
      download,
      "refusing to override existing file",
    ],
  ]);
  checks("a storage", () => root, [
    ["lists the template", "GET NODE/storage/local/content", { content: "vztmpl" }, `"local:vztmpl/${file}"`],
    ["describes one volume", `GET NODE/storage/local/content/local:vztmpl%2F${file}`, {}, '"format":"tzst"'],
  ]);

  checks("a bad creation", () => root, [
    [
      "with a missing device",
      "POST NODE/lxc",
      { ...container, dev0: "deny-write=0,path=/dev/nope0,uid=0,gid=0,mode=0660" },
      "500 Device /dev/nope0 does not exist",
    ],
    [
      "with an unknown storage of the template",
      "POST NODE/lxc",
      { ...container, ostemplate: "nope:vztmpl/x.tar.zst" },
      "500 storage 'nope' does not exist",
    ],
    [
      "with an unknown storage of the disk",
      "POST NODE/lxc",
      { ...container, rootfs: "volume=nope:8" },
      "500 storage 'nope' does not exist",
    ],
    [
      "with an unknown parameter",
      "POST NODE/lxc",
      { ...container, "lxc.idmap": "x" },
      "400 Parameter verification failed",
    ],
  ]);
  tasks("a bad creation", [
    [
      "with a missing template",
      "POST NODE/lxc",
      { ...container, ostemplate: "local:vztmpl/nope.tar.zst" },
      "unable to create CT 150 - volume 'local:vztmpl/nope.tar.zst' does not exist",
    ],
  ]);
  checks("a token, even root's,", () => rootToken, [
    [
      "may not pass devices",
      "POST NODE/lxc",
      { ...container, features: "nesting=1", dev0: nullDevice },
      "403 Permission check failed (configuring device passthrough is only allowed for root@pam)",
    ],
    [
      "may not bind-mount",
      "POST NODE/lxc",
      { ...container, features: "nesting=1", mp0: "volume=/srv,mp=/srv" },
      "403 Permission check failed (mount point type bind is only allowed for root@pam)",
    ],
    [
      "may not write zeros into features",
      "POST NODE/lxc",
      container,
      "403 Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)",
    ],
  ]);

  tasks("a container", [
    ["is created and started", "POST NODE/lxc", { ...container, dev0: nullDevice }, "OK"],
  ]);
  checks("the running container", () => root, [
    ["is not made twice", "POST NODE/lxc", container, "500 CT 150 already exists on node 'pve1'"],
    ["shows its device", `GET ${CT}/config`, {}, '"dev0":"deny-write=0,path=/dev/null'],
    ["has sorted tags", `GET ${CT}/config`, {}, '"tags":"gpu;ml"'],
    ["has its disk", `GET ${CT}/config`, {}, '"rootfs":"local-lvm:vm-150-disk-0,size=8G"'],
    ["has numbers as numbers", `GET ${CT}/config`, {}, '"memory":1024'],
    ["runs", `GET ${CT}/status/current`, {}, '"status":"running"'],
    ["has its address", `GET ${CT}/interfaces`, {}, `"ip-address":"${subnet}.150"`],
    ["is not started twice", `POST ${CT}/status/start`, {}, "500 CT 150 already running"],
    ["refuses an empty change", `PUT ${CT}/config`, {}, "500 no options specified"],
    [
      "takes memory and description at once",
      `PUT ${CT}/config`,
      { memory: 2048, description: "new" },
      "200 OK",
    ],
    ["keeps them", `GET ${CT}/config`, { current: 1 }, '"memory":2048'],
    ["lets a new device wait", `PUT ${CT}/config`, { dev1: "path=/dev/zero,mode=0660" }, "200 OK"],
    ["shows what waits", `GET ${CT}/pending`, {}, '{"key":"dev1","pending":"path=/dev/zero,mode=0660"}'],
    [
      "refuses a missing device",
      `PUT ${CT}/config`,
      { dev2: "path=/dev/nope0" },
      "500 Device /dev/nope0 does not exist",
    ],
    [
      "refuses an unknown removal",
      `PUT ${CT}/config`,
      { delete: "dev300x" },
      "400 Parameter verification failed",
    ],
    ["takes a waiting device back", `PUT ${CT}/config`, { delete: "dev1" }, "200 OK"],
    ["stays unprivileged", `PUT ${CT}/config`, { unprivileged: 0 }, "unable to modify read-only option"],
    ["cannot be destroyed", `DELETE ${CT}`, {}, "500 unable to destroy CT 150 - container is running"],
  ]);
  checks("a token", () => rootToken, [
    [
      "may not change devices",
      `PUT ${CT}/config`,
      { dev1: nullDevice },
      "403 Permission check failed (configuring device passthrough",
    ],
    ["may change cores", `PUT ${CT}/config`, { cores: 4 }, "200 OK"],
  ]);
  checks("an auditor", () => auditor, [
    ["reads", `GET ${CT}/config`, {}, "200 OK"],
    [
      "does not write",
      `PUT ${CT}/config`,
      { cores: 1 },
      "403 Permission check failed (/vms/150, VM.Config.Disk|",
    ],
  ]);
  tasks("the disk", [
    ["grows", `PUT ${CT}/resize`, { disk: "rootfs", size: "10G" }, "OK"],
    ["does not shrink", `PUT ${CT}/resize`, { disk: "rootfs", size: "1G" }, "unable to shrink disk size"],
  ]);

  test("a device that vanishes: the change is made, the call fails, the start fails", async () => {
    lab.shell("pve1", "mknod -m 666 /dev/labx c 1 3");
    expect((await api.call(root, `PUT ${CT}/config`, { dev3: "path=/dev/labx" })).status).toBe(200);
    expect((await api.task(root, `POST ${CT}/status/reboot`, { timeout: 300 })).status).toBe("OK");
    lab.shell("pve1", "rm /dev/labx");

    const change = await api.call(root, `PUT ${CT}/config`, { cores: 3 });
    expect([change.status, change.reason]).toEqual([500, "Device /dev/labx does not exist"]);
    const config = (await api.call(root, `GET ${CT}/config`)).body.data as { cores: number };
    expect(config.cores).toBe(3);

    const stop = await api.task(root, `POST ${CT}/status/shutdown`, { forceStop: 1, timeout: 55 });
    expect(stop.status).toBe("OK");
    const start = await api.task(root, `POST ${CT}/status/start`);
    expect(start.status).toBe("Device /dev/labx does not exist");
    expect((await api.call(root, `PUT ${CT}/config`, { delete: "dev3" })).status).toBe(200);
  });

  checks("protection", () => root, [
    ["is set", `PUT ${CT}/config`, { protection: 1 }, "200 OK"],
    ["keeps the container", `DELETE ${CT}`, {}, "500 can't remove CT 150 - protection mode enabled"],
    ["keeps its disk", `PUT ${CT}/config`, { mp0: "local-lvm:1,mp=/d" }, "can't update CT 150 drive 'mp0'"],
    ["is taken away", `PUT ${CT}/config`, { protection: 0 }, "200 OK"],
  ]);
  tasks("the container", [
    ["starts again", `POST ${CT}/status/start`, {}, "OK"],
    ["stops", `POST ${CT}/status/stop`, {}, "OK"],
  ]);
  checks("the stopped container", () => root, [
    ["is not shut down", `POST ${CT}/status/shutdown`, {}, "500 CT 150 not running"],
  ]);

  const inject = (...faults: object[]): void => {
    lab.shell("pve1", `cat >/etc/lab/api-faults.json <<'X'\n${JSON.stringify(faults)}\nX`);
  };
  test("a listing that fails answers 596 as often as asked for", async () => {
    inject({
      method: "GET",
      path: "storage/local/content$",
      status: 596,
      message: "Connection timed out",
      times: 2,
    });
    const seen: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      seen.push((await api.call(root, "GET NODE/storage/local/content")).status);
    }
    expect(seen).toEqual([596, 596, 200]);
  });
  test("a task can be made to fail, to warn and to take time", async () => {
    inject(
      { path: "vzstart", task: "can't lock file '/run/lock/lxc/pve-config-150.lock' - got timeout" },
      { path: "vzstart", task: "WARNINGS: 1", delay: 1 },
    );
    const failed = await api.task(root, `POST ${CT}/status/start`);
    expect(failed.status).toContain("got timeout");
    const begun = Date.now();
    const warned = await api.task(root, `POST ${CT}/status/start`);
    expect(warned.status).toBe("WARNINGS: 1");
    expect(warned.log).toContain("TASK WARNINGS: 1");
    expect(Date.now() - begun).toBeGreaterThan(1000);
    expect((await api.task(root, `POST ${CT}/status/stop`)).status).toBe("OK");
  });
  test("a connection can end without an answer", async () => {
    inject({ path: "/version", close: true });
    await expect(api.call(root, "GET /version")).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect((await api.call(root, "GET /version")).status).toBe(200);
  });

  tasks("the container", [["is destroyed", `DELETE ${CT}`, {}, "OK"]]);
  checks("the destroyed container", () => root, [
    [
      "is gone",
      `GET ${CT}/status/current`,
      {},
      "500 Configuration file 'nodes/pve1/lxc/150.conf' does not exist",
    ],
  ]);
  tasks("the template", [["is deleted", `DELETE NODE/storage/local/content/vztmpl%2F${file}`, {}, "OK"]]);
  test("nothing of the container is left on the host", () => {
    expect(
      lab.shell("pve1", "ls /var/lib/lab-volumes/local-lvm /var/lib/lxc /etc/pve/lxc").stdout,
    ).not.toMatch(/150/);
  });
});
