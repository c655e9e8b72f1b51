import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { useDeployedLab } from "./deployed-lab";
import { ask, PROJECT } from "./lab-stack";

const stack = useDeployedLab();

interface Row {
  readonly where: string;
  readonly step: string;
  readonly declared: string;
  readonly found: string;
  readonly repairable: boolean;
}

interface Report {
  readonly checked: number;
  readonly rows: Row[];
  readonly unchecked: { where: string; steps: string[]; reason: string }[];
  readonly repaired: string[];
  readonly seconds: number;
}

/** `./stack drift` as a user runs it. */
function drift(...flags: string[]): { status: number | null; report: Report; progress: string } {
  const file = join(stack.folder, "Pulumi.test.yaml");
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", '. engine/env.sh && exec ./stack drift "$@"', "stack", file, "--json", ...flags],
    { cwd: PROJECT, encoding: "utf8", env: { ...process.env, LAB_DIR: stack.folder } },
  );
  if (!stdout.startsWith("{")) throw new Error(`no report, exit ${status}:\n${stderr}`);
  return { status, report: JSON.parse(stdout) as Report, progress: stderr };
}

const brief = ({ rows }: Report) => rows.map(({ where, step, found }) => `${where}, ${step}: ${found}`);

/** How many resources the engine updated, and that it did nothing else. */
function updates(progress: string): number {
  expect(progress).not.toMatch(/^ {4}(\+|-|\+-) \d+ /m);
  return Number(/^ {4}~ (\d+) updated/m.exec(progress)?.[1] ?? 0);
}

/** Everything below these folders that changed since the mark, on the host and in the container. */
function changedSince(mark: string): string {
  const find = `find /etc /usr /opt /srv /root /var/lib /var/cache -xdev -newer ${mark} ! -path "/var/lib/systemd*" ! -path "*/probe*" ! -path "/var/lib/lxc*"`;
  return [
    stack.onHost(`${find} ! -path "/var/lib/lab*" ! -path "*vz*"`),
    stack.onHost(`pct exec 129 -- bash -s <<'SCRIPT'\n${find}\nSCRIPT`),
  ]
    .join("\n")
    .trim();
}

const MODEL = "/srv/models/qwen3.6-tiny";
const HOST = "host pve1";
const ML = "container ml \\(129\\)";
const pid = () => stack.inContainer("systemctl show -P MainPID sglang-qwen");

/** What a person or another program does to a stack, what drift says of it, and what repair applies again. */
const CASES: readonly {
  readonly what: string;
  readonly damage: () => void;
  readonly rows: readonly string[];
  readonly repaired: readonly string[];
}[] = [
  {
    what: "a unit that was edited by hand",
    damage: () =>
      stack.inContainer(
        "sed -i s/^Description=.*/Description=edited/ /etc/systemd/system/sglang-qwen.service",
      ),
    rows: [`${ML}, qwen-service: /etc/systemd/system/sglang-qwen.service differs from what is declared`],
    repaired: ["qwen-service"],
  },
  {
    what: "nouveau that may come back",
    damage: () => stack.onHost("rm /etc/modprobe.d/blacklist-nouveau.conf"),
    rows: [
      `${HOST}, driver-kernel: /etc/modprobe.d/blacklist-nouveau.conf is missing`,
      `${HOST}, driver-kernel: the initramfs of kernel .* does not blacklist nouveau`,
    ],
    repaired: ["driver-kernel"],
  },
  {
    what: "a model file that was cut off",
    damage: () => stack.onHost(`chmod u+w ${MODEL}/config.json && truncate -s 100 ${MODEL}/config.json`),
    rows: [`${HOST}, qwen36-snapshot: .*config.json.*`],
    repaired: ["qwen36-snapshot"],
  },
  {
    what: "a package that was changed in the container's environment",
    damage: () =>
      stack.inContainer(
        "sh -c '/opt/proxmox-gpu-stack/uv-*/bin/uv -q pip install --python /opt/ml-env/bin/python3 prometheus-client==0.21.0'",
      ),
    rows: [`${ML}, ml-env-environment: package prometheus_client is 0.21.0, the lock has .*`],
    repaired: ["ml-env-environment"],
  },
  {
    what: "driver libraries of another version in the container",
    damage: () => {
      stack.onHost(
        `curl -sSfo /tmp/other.run http://${stack.subnet}.1:8080/nvidia/NVIDIA-Linux-x86_64-590.48.01.run && pct push 129 /tmp/other.run /tmp/other.run && rm /tmp/other.run`,
      );
      stack.inContainer("sh /tmp/other.run --silent --no-questions --ui=none --no-kernel-modules");
      stack.inContainer("rm /tmp/other.run");
    },
    rows: [
      `${ML}, ml-driver-userland: .* are of version '590.48.01', declared is 580.105.08`,
      `${ML}, ml-cuda-check: nvidia-smi fails: .*`,
    ],
    repaired: ["ml-driver-userland", "ml-cuda-check"],
  },
  {
    what: "steps with a removal: the boot unit disabled and the claim of the id gone",
    damage: () => stack.onHost("systemctl disable -q gpu-nodes; rm /etc/proxmox-gpu-stack/claims/129"),
    rows: [
      `${HOST}, driver-gpu-boot: gpu-nodes.service is not enabled`,
      `${ML}, ml-claim: the id 129 is not claimed`,
    ],
    repaired: ["driver-gpu-boot", "ml-claim"],
  },
  {
    what: "a container's memory and tags changed in the GUI",
    damage: () => stack.onHost("pct set 129 --memory 2048 --tags other"),
    rows: [`${ML}, ml-container: memory \\(MiB\\): 2048`, `${ML}, ml-container: tags: other`],
    repaired: ["ml-container"],
  },
  {
    what: "a device taken from the container, and its cores changed in the GUI",
    damage: () => stack.onHost("pct set 129 --delete dev0; pct set 129 --cores 1"),
    rows: [`${ML}, ml-container: cores: 1`, `${ML}, ml-attach: the device nodes are not those of its cards`],
    repaired: ["ml-attach", "ml-container"],
  },
];

beforeAll(() => {
  stack.inContainer("sh -c 'echo precious > /root/mark'");
});

describe("a stack as it was deployed", () => {
  it("has no drift, told over one connection, and nothing on the machines has changed afterwards", () => {
    stack.onHost("touch /run/before; pct exec 129 -- touch /run/before; sleep 1.1");
    const before = {
      pid: pid(),
      configuration: stack.onHost("cat /etc/pve/lxc/129.conf"),
      ...stack.traffic(),
    };
    const { status, report } = drift();
    const { logins, requests } = stack.traffic();
    expect(brief(report)).toEqual([]);
    expect({ status, unchecked: report.unchecked }).toEqual({ status: 0, unchecked: [] });
    expect(report.checked).toBeGreaterThanOrEqual(12);
    // The lab's own shell logs in for the second number.
    expect(logins - before.logins).toBe(2);
    expect(requests).toBe(before.requests);
    expect(changedSince("/run/before")).toBe("");
    expect(pid()).toBe(before.pid);
    expect(stack.onHost("cat /etc/pve/lxc/129.conf")).toBe(before.configuration);
  });
});

describe.each(CASES)("$what", ({ damage, rows, repaired }) => {
  it("shows as drift, and nothing else does", () => {
    damage();
    const { status, report } = drift();
    expect(brief(report)).toEqual(rows.map((row) => expect.stringMatching(new RegExp(`^${row}$`)) as string));
    expect(status).toBe(2);
  });

  it("is repaired, by these steps and no other", () => {
    const { status, report, progress } = drift("--repair");
    expect({ status, rows: brief(report), repaired: [...report.repaired].sort() }).toEqual({
      status: 0,
      rows: [],
      repaired: [...repaired].sort(),
    });
    expect(updates(progress)).toBe(repaired.length);
    expect(progress).not.toContain("taken away");
  });
});

describe("a model file with another byte, its size and time put back", () => {
  const weights = `$(ls ${MODEL}/*.safetensors | head -n 1)`;

  it("shows with --hash only", () => {
    stack.onHost(`file=${weights}; cp -p --attributes-only "$file" /tmp/times; chmod u+w "$file"
printf '\\377' | dd of="$file" bs=1 seek=5000 conv=notrunc status=none; touch -r /tmp/times "$file"; chmod --reference /tmp/times "$file"`);
    expect(brief(drift().report)).toEqual([]);
    const { status, report } = drift("--hash");
    expect({ status, rows: brief(report) }).toEqual({
      status: 2,
      rows: [expect.stringMatching(/^host pve1, qwen36-snapshot: .*\.safetensors: damaged: /) as string],
    });
  });

  it("is fetched again by --hash --repair", () => {
    const { status, report } = drift("--hash", "--repair");
    expect({ status, rows: brief(report), repaired: report.repaired }).toEqual({
      status: 0,
      rows: [],
      repaired: ["qwen36-snapshot"],
    });
  });
});

describe("a container that is stopped", () => {
  it("is drift; what is in it is told as not checked, the rest is checked", () => {
    stack.onHost("pct shutdown 129");
    const { status, report } = drift();
    expect(status).toBe(2);
    expect(brief(report)).toEqual(["container ml (129), ml-attach: it is not running"]);
    expect(report.unchecked).toEqual([
      {
        where: "container ml (129)",
        steps: ["ml-driver-userland", "ml-cuda-check", "ml-env-environment", "qwen-service"],
        reason: "container '129' not running!",
      },
    ]);
    expect(report.checked).toBeGreaterThanOrEqual(8);
  });

  it("runs after a repair, with its data, and the service answers", async () => {
    const { status, report } = drift("--repair");
    expect({ status, repaired: report.repaired, unchecked: report.unchecked }).toEqual({
      status: 0,
      repaired: ["ml-attach"],
      unchecked: [],
    });
    expect(stack.inContainer("cat /root/mark")).toBe("precious");
    // The container's start has started the server, which loads its model first.
    stack.untilHealthy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
  });
});

describe("after all these repairs", () => {
  it("Pulumi has nothing to do: no mark stays in the state", () => {
    expect(stack.pulumi("preview", "--refresh", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("a changed stack file is no drift to be repaired: it must be deployed", () => {
    stack.edit((file) => {
      Object.assign((file.services as { qwen: object }).qwen, { maxRunningRequests: 7 });
    });
    const before = pid();
    expect(drift().status).toBe(2);
    expect(() => drift("--repair")).toThrow(/changed since the last `up`: qwen-service/);
    expect(pid()).toBe(before);
    stack.reset();
  });

  it("a host that does not answer is told as such, with exit code 4", () => {
    stack.edit((file) => Object.assign(file.host ?? {}, { sshPort: 2222 }));
    expect(() => drift()).toThrow(/exit 4:\nstack: .* cannot be reached over SSH/);
    stack.reset();
  });
});
