/** Marked secrets on a deployed host: in processes while steps run, in files with their modes, in journals and state. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { usePreparedLab } from "./deployed-lab";
import { PROJECT, request } from "./lab-stack";

const stack = usePreparedLab();

const MARK = "PlantedSecret";
/** For grep: its own command line must not match. */
const PATTERN = "[P]lantedSecret";
const KEY = `sk-${MARK}-key`;
const TOKEN = `hf_${MARK}0123456789abcdef`;

/** The privileges that docs/security.md tells owners to give the token. */
const PRIVILEGES =
  /^```text privileges\n([\s\S]*?)\n```$/m
    .exec(readFileSync(join(PROJECT, "docs", "security.md"), "utf8"))?.[1]
    ?.split(/\s+/) ?? [];

const secret = "11111111-2222-3333-4444-888888888888";

/** Gives the lab's API a user whose token has these privileges, on everything. */
function grant(privileges: readonly string[]): void {
  const script = `import json
path = "/etc/lab/api.json"
with open(path, encoding="utf-8") as file:
    data = json.load(file)
data["users"]["stack@pve"] = {"password": "unused-here"}
data["tokens"]["stack@pve!iac"] = {"secret": "${secret}", "privsep": 0}
data["roles"]["Stack"] = ${JSON.stringify(privileges)}
data["acl"] = [entry for entry in data["acl"] if entry["to"] != "stack@pve"]
data["acl"].append({"path": "/", "to": "stack@pve", "role": "Stack"})
with open(path, "w", encoding="utf-8") as file:
    json.dump(data, file)
`;
  stack.onHost(`python3 - <<'X'\n${script}X`);
}

/** Processes of the host and its containers whose command line or environment ever held the mark, while `work` ran. */
async function seenInProcesses(work: () => Promise<number | null>): Promise<string> {
  const watch = `while sleep 0.05; do grep -alE '${PATTERN}' /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; done`;
  const watcher = spawn(
    "lab/lab",
    ["shell", "pve1", `timeout 300 bash -c "${watch.replaceAll('"', '\\"')}" || true`],
    {
      cwd: PROJECT,
      env: { ...process.env, LAB_DIR: stack.folder, LAB_SUBNET: stack.subnet },
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  let seen = "";
  watcher.stdout.on("data", (text: Buffer) => (seen += text.toString()));
  try {
    expect(await work()).toBe(0);
  } finally {
    watcher.kill();
  }
  return seen;
}

/** Files that hold the mark, as "mode owner path". */
const FIND = `grep -rlIE --devices=skip '${PATTERN}' /etc /var /run /root /opt /usr/local /tmp /home 2>/dev/null | xargs -r stat -c '%a %U %n' | sort`;

describe("a service with an API key, and a token of the hub", () => {
  it("is deployed without a process that shows either", async () => {
    stack.edit((file) => {
      Object.assign(file, { serviceApiKey: KEY, huggingFaceToken: TOKEN });
    });
    expect(await seenInProcesses(() => stack.startUp())).toBe("");
  });

  it("leaves the key in files that only root or the service reads, and the token nowhere", () => {
    expect(stack.inContainer(`sh -c "${FIND.replaceAll('"', '\\"')}"`).split("\n")).toEqual([
      // systemd's copy for the service, in memory while it runs.
      "400 sglang /run/credentials/sglang-qwen.service/arguments.yaml",
      "600 root /etc/proxmox-gpu-stack/services/qwen/api-key",
      "600 root /etc/proxmox-gpu-stack/services/qwen/arguments.yaml",
    ]);
    expect(stack.onHost(`${FIND} | grep -v /lab-volumes/ || true`)).toBe("");
  });

  it("leaves no trace in journals but SGLang's own list of its arguments", () => {
    const search = `journalctl --no-pager -q | grep -E '${PATTERN}' || true`;
    expect(stack.onHost(search)).toBe("");
    for (const line of stack.inContainer(`sh -c "${search}"`).split("\n"))
      expect(line).toMatch(/ server_args=ServerArgs\(|^$/);
  });

  it("stands in the state encrypted only, beside the key of SSH", () => {
    const output = stack.state();
    expect(output).toContain("qwen-service");
    expect(output).not.toContain(MARK);
    expect(output).not.toContain("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU");
    expect(output).not.toContain("lab-root-pw");
  });

  it("answers on the stated address, and only who has the key", async () => {
    expect(stack.inContainer("sh -c \"ss -Hltn sport = :30000 | awk '{print \\$4}'\"")).toBe("0.0.0.0:30000");
    const ask = (headers: Record<string, string>) => request(`${stack.endpoint()}/v1/models`, { headers });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ authorization: `Bearer ${KEY}x` })).status).toBe(401);
    expect((await ask({ authorization: `Bearer ${KEY}` })).status).toBe(200);
  });

  it.each([
    ["sglang-qwen.service", 3.0],
    ["sglang-qwen-probe.service", 3.5],
  ])("is rated by systemd: %s at most %d", (unit, most) => {
    const last = stack.inContainer(`systemd-analyze security --no-pager ${unit}`).split("\n").at(-1) ?? "";
    expect(Number(/: ([0-9.]+) /.exec(last)?.[1])).toBeLessThanOrEqual(most);
  });
});

describe("the API token with the privileges of docs/security.md", () => {
  const other = {
    vmId: 131,
    cores: 1,
    memoryGiB: 1,
    rootDisk: { storage: "local-lvm", sizeGiB: 4 },
    protect: false,
  };

  /** A second container, made with the token instead of root's password. */
  const withToken = (): void => {
    stack.edit((file) => {
      delete file["apiPassword"];
      const containers = file["containers"] as Record<string, Record<string, unknown>>;
      const { template, network } = containers["ml"] ?? {};
      containers["other"] = {
        ...other,
        template,
        network: { ...(network as object), address: `${stack.subnet}.131/24` },
      };
      Object.assign(file, { apiToken: `stack@pve!iac=${secret}` });
    });
  };

  it.each([
    // Proxmox VE does not say which one is missing here.
    ["VM.Allocate", "Permission check failed"],
    ["SDN.Use", "SDN.Use"],
    ["Datastore.AllocateSpace", "Datastore.AllocateSpace"],
  ])("is refused without %s", (privilege, reason) => {
    expect(PRIVILEGES).toContain(privilege);
    grant(PRIVILEGES.filter((name) => name !== privilege));
    withToken();
    const { status, output } = stack.pulumi("up", "--yes", "--skip-preview");
    expect(status).not.toBe(0);
    expect(output).toContain(reason);
  });

  it("makes, changes and takes away a container", () => {
    grant(PRIVILEGES);
    stack.deploy();
    stack.edit((file) => {
      const containers = file["containers"] as Record<string, Record<string, unknown>>;
      Object.assign(containers["other"] ?? {}, {
        cores: 2,
        memoryGiB: 2,
        description: "changed",
        tags: ["x"],
      });
    });
    stack.deploy();
    expect(stack.onHost("pct config 131")).toMatch(/^cores: 2$/m);
    stack.edit((file) => {
      delete (file["containers"] as Record<string, unknown>)["other"];
    });
    stack.deploy();
    expect(stack.onHost("pct list")).not.toContain("131");
  });
});
