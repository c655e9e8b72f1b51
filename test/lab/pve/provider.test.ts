import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestLab } from "../host/test-lab";
import { ApiClient, Caller, nobody } from "./api-client";

jest.setTimeout(900_000);

const lab = new TestLab();
const { subnet } = lab;
const project = join(__dirname, "../../..");
const template = "debian-12-standard_12.12-1_amd64.tar.zst";
const publicKey = readFileSync(join(project, "lab/keys/client_ed25519.pub"), "utf8").trim();
const rootPassword = { username: "root@pam", password: "lab-root-pw" };
const rootToken = { apiToken: "root@pam!iac=11111111-2222-3333-4444-555555555555" };

/** What the program in provider/ makes. */
interface Wanted {
  provider: Record<string, unknown>;
  template: Record<string, unknown>;
  container: Record<string, unknown>;
  options: Record<string, unknown>;
}

interface Result {
  readonly status: number | null;
  readonly output: string;
}

/** Values that change with each test; the rest is the same. */
function describeContainer(checksum: string): Wanted {
  return {
    provider: { endpoint: `https://${subnet}.5:8006/`, insecure: true, ...rootPassword },
    template: {
      nodeName: "pve1",
      datastoreId: "local",
      contentType: "vztmpl",
      fileName: template,
      url: `http://${subnet}.1:8080/template/${template}`,
      checksum,
      checksumAlgorithm: "sha256",
      overwrite: false,
    },
    container: {
      nodeName: "pve1",
      vmId: 150,
      unprivileged: true,
      cpu: { cores: 2 },
      memory: { dedicated: 1024, swap: 0 },
      disk: { datastoreId: "local-lvm", size: 8 },
      features: { nesting: true },
      networkInterfaces: [{ name: "eth0", bridge: "vmbr0" }],
      initialization: {
        hostname: "iac",
        ipConfigs: [{ ipv4: { address: `${subnet}.150/24`, gateway: `${subnet}.1` } }],
        userAccount: { keys: [publicKey] },
      },
      devicePassthroughs: [
        { path: "/dev/null", mode: "0666" },
        { path: "/dev/zero", mode: "0666" },
      ],
      startOnBoot: false,
      tags: ["gpu", "ml"],
    },
    options: {},
  };
}

// The lab must show the real provider what a real host shows it: what works, and the traps that destroy data.
// The tests go on from one another.
describe("the real provider on a lab host", () => {
  const api = new ApiClient(`${subnet}.5`, "pve1");
  let root: Caller = nobody;
  let wanted: Wanted;

  const pulumi = (...args: string[]): Result => {
    writeFileSync(join(lab.directory, "wanted.json"), JSON.stringify(wanted));
    const script = '. engine/env.sh && cd test/lab/pve/provider && exec pulumi "$@" 2>&1';
    const flags = [...args, "--stack", "test", "--non-interactive", "--color", "never"];
    const environment = { LAB_DIR: lab.directory, WANTED: join(lab.directory, "wanted.json") };
    const result = spawnSync("bash", ["-c", script, "pulumi", ...flags], {
      cwd: project,
      env: { ...process.env, ...environment },
      encoding: "utf8",
    });
    return { status: result.status, output: result.stdout };
  };
  const must = (result: Result): Result => {
    if (result.status !== 0) throw new Error(result.output);
    return result;
  };
  const up = (...args: string[]): Result => pulumi("up", "--yes", "--skip-preview", ...args);
  const config = async (): Promise<Record<string, unknown>> =>
    (await api.call(root, "GET NODE/lxc/150/config")).body.data as Record<string, unknown>;
  const state = async (): Promise<string> => {
    const { data } = (await api.call(root, "GET NODE/lxc/150/status/current")).body;
    return (data as { status: string }).status;
  };
  const inject = (...faults: object[]): void => {
    lab.shell("pve1", `cat >/etc/lab/api-faults.json <<'X'\n${JSON.stringify(faults)}\nX`);
  };
  const tasks = (): string =>
    lab.shell("pve1", "ls -tr /var/log/pve/tasks | awk -F: '{print $6}' | paste -sd' '").stdout.trim();

  beforeAll(async () => {
    lab.ok("up");
    const installed = spawnSync("engine/install", [], {
      cwd: project,
      env: { ...process.env, LAB_DIR: lab.directory },
      encoding: "utf8",
    });
    if (installed.status !== 0) throw new Error(installed.stderr);
    const sums = readFileSync(join(lab.directory, "SHA256SUMS"), "utf8").split("\n");
    wanted = describeContainer(sums.find((line) => line.endsWith(template))?.slice(0, 64) ?? "");
    root = await api.logIn(rootPassword.username, rootPassword.password);
    must(pulumi("stack", "init"));
  });
  afterAll(() => {
    lab.end();
  });

  test("makes a container and then finds nothing to do", async () => {
    must(up());
    expect(await config()).toMatchObject({
      cores: 2,
      dev0: "deny-write=0,path=/dev/null,uid=0,gid=0,mode=0666",
      features: "nesting=1",
    });
    expect(await state()).toBe("running");
    must(up("--refresh", "--expect-no-changes"));
  });

  test("changes cores in place", async () => {
    wanted.container["cpu"] = { cores: 1 };
    must(up());
    expect(await config()).toMatchObject({ cores: 1 });
    expect(tasks()).not.toContain("vzreboot");
  });

  test("a change that is refused once is lost for the next update, until a refresh (T2)", async () => {
    inject({ method: "PUT", path: "config$", status: 400, message: "Parameter verification failed." });
    wanted.container["memory"] = { dedicated: 2048, swap: 0 };
    expect(up().status).not.toBe(0);
    must(up());
    expect(await config()).toMatchObject({ memory: 1024 });
    must(up("--refresh"));
    expect(await config()).toMatchObject({ memory: 2048 });
    expect(tasks()).toMatch(/vzreboot$/);
  });

  test("a device less stays on the host, and the difference never ends (T4)", async () => {
    wanted.container["devicePassthroughs"] = [{ path: "/dev/null", mode: "0666" }];
    must(up());
    expect(await config()).toHaveProperty("dev1");
    expect(pulumi("preview", "--expect-no-changes").status).not.toBe(0);
    lab.shell("pve1", "pct set 150 --delete dev1 && pct reboot 150");
  });

  test("a token may not write the zeros that an update of features sends (T6)", () => {
    const before = structuredClone(wanted);
    wanted.provider = { endpoint: before.provider["endpoint"], insecure: true, ...rootToken };
    wanted.container["features"] = { nesting: false };
    const result = up("--refresh");
    expect(result.status).not.toBe(0);
    expect(result.output).toContain("changing feature flags (except nesting) is only allowed for root@pam");
    wanted = before;
  });

  test("a protected container is shut down before its destruction is refused (T5)", async () => {
    wanted.container["protection"] = true;
    must(up("--refresh"));
    const result = pulumi("destroy", "--yes", "--skip-preview");
    expect(result.output).toContain("can't remove CT 150 - protection mode enabled");
    expect(await state()).toBe("stopped");
    wanted.container["protection"] = false;
    lab.shell("pve1", "pct set 150 --protection 0; pct start 150");
  });

  test("a listing that fails while refreshing makes the next preview replace the container (T3)", () => {
    const message = "Connection timed out";
    inject({ method: "GET", path: "storage/local/content", status: 596, message, times: 100 });
    must(pulumi("refresh", "--yes", "--skip-preview"));
    inject();
    const preview = must(pulumi("preview", "--diff")).output;
    expect(preview).toMatch(/\+-proxmoxve:index\/containerLegacy:ContainerLegacy: \(replace\)/);
  });

  test("a replacement with the same id destroys the container and reports success (T1)", () => {
    const initialization = wanted.container["initialization"] as Record<string, unknown>;
    initialization["userAccount"] = { keys: [`${publicKey} again`] };
    must(up());
    expect(lab.shell("pve1", "pct list").stdout).toBe("");
  });

  test("what is left is destroyed", () => {
    must(pulumi("destroy", "--yes", "--skip-preview", "--refresh"));
    expect(lab.shell("pve1", "ls /var/lib/vz/template/cache /etc/pve/lxc").stdout).not.toMatch(/debian|conf/);
  });
});
