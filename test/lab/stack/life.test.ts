import { ask, request, useLab } from "./lab-stack";

const ANOTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFqvyAFskyoBX8N43V9bRkX3DGEqpY9TnrdvHVATjmBQ";

const stack = useLab();
const ENDPOINT = stack.endpoint();

const container = () => stack.onHost("pct config 129");

/** Sets a value in the stack file: `set("services.qwen.port", 1)`. */
function set(path: string, value: unknown): void {
  stack.edit((file) => {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    let place: Record<string, unknown> = file;
    for (const key of keys) place = place[key] as Record<string, unknown>;
    place[last] = value;
  });
}

const expectCorrectAnswer = async () => {
  expect(await ask(ENDPOINT, "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

describe("a bare host", () => {
  it("ends with a service in a container that answers a chat request", async () => {
    expect(stack.onHost("lsmod")).toContain("nouveau");
    stack.deploy();
    expect(stack.onHost("lsmod")).not.toContain("nouveau");
    await expectCorrectAnswer();
    const outputs = stack.outputs();
    expect(outputs).toMatchObject({
      driverVersion: "580.105.08",
      endpoints: { qwen: ENDPOINT },
      containerAddresses: { ml: { vmId: 129, address: `${stack.subnet}.129` } },
      environmentDigests: { "ml-env": expect.stringMatching(/^[0-9a-f]{12}$/) as string },
    });
    const check = (outputs.healthChecks as Record<string, string>).qwen ?? "";
    expect(stack.onHost(check)).toContain('"healthy": true');
  });

  it("has the pinned driver on the host and in the container, and exactly both cards in it", () => {
    expect(stack.onHost("cat /proc/driver/nvidia/version")).toContain("580.105.08");
    expect(
      stack.inContainer("nvidia-smi --query-gpu=uuid,driver_version --format=csv,noheader").split("\n"),
    ).toEqual([
      "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1, 580.105.08",
      "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2, 580.105.08",
    ]);
  });

  it("is then as declared: neither preview nor up dials it or asks its API", () => {
    const before = stack.traffic();
    expect(stack.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
    // The second look at the counters logs in itself.
    expect(stack.traffic()).toEqual({ logins: before.logins + 1, requests: before.requests });
  });
});

describe("changing one pinned value", () => {
  it("of a service's flags previews as its service alone, readable, and takes effect", async () => {
    set("services.qwen.maxRunningRequests", 7);
    expect(stack.previewedSteps()).toEqual(["update qwen-service"]);
    expect(stack.pulumi("preview", "--diff").output).toContain("--max-running-requests 7");
    stack.deploy();
    const info = (await (await request(`${ENDPOINT}/server_info`)).json()) as Record<string, unknown>;
    expect(info.max_running_requests).toBe(7);
  });

  it("of a lock previews as its environment and the services on it, and restarts them on the new one", () => {
    const before = stack.outputs().environmentDigests;
    const pid = stack.inContainer("systemctl show -P MainPID sglang-qwen");
    set("environments.ml-env.lock", "lab-sglang-0.5.11-next");
    expect(stack.previewedSteps()).toEqual(["update ml-env-environment", "update qwen-service"]);
    stack.deploy();
    expect(stack.outputs().environmentDigests).not.toEqual(before);
    expect(stack.inContainer("systemctl show -P MainPID sglang-qwen")).not.toBe(pid);
  });

  it("of the driver previews as the steps that depend on it; host and container end on it, without a reboot", async () => {
    const boot = stack.onHost("cat /proc/sys/kernel/random/boot_id");
    set("driver.version", "590.48.01");
    expect(stack.previewedSteps()).toEqual([
      "update driver-install",
      "update driver-ready",
      "update driver-gpu-boot",
      "update ml-attach",
      "update ml-driver-userland",
      "update ml-cuda-check",
      "update qwen-service",
    ]);
    expect(stack.pulumi("preview", "--diff").output).toContain("version=590.48.01");
    stack.deploy();
    // Nobody but this stack uses the GPUs, so the old module can be unloaded.
    expect(stack.onHost("cat /proc/sys/kernel/random/boot_id")).toBe(boot);
    expect(stack.onHost("cat /proc/driver/nvidia/version")).toContain("590.48.01");
    expect(stack.inContainer("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0")).toBe(
      "590.48.01",
    );
    await expectCorrectAnswer();
  });
});

describe("a container's data", () => {
  const expectDataIsThere = () => {
    expect(stack.inContainer("cat /root/mark")).toBe("precious");
  };
  const containerSteps = () => stack.previewedSteps().filter((step) => step.endsWith(" ml-container"));

  beforeAll(() => {
    stack.inContainer("sh -c 'echo precious > /root/mark'");
  });

  it("outlives a changed template (T1): nothing happens to a container that is there", () => {
    set(
      "containers.ml.template.url",
      `http://${stack.subnet}.1:8080/template/debian-12-standard_12.99-1_amd64.tar.zst`,
    );
    set("containers.ml.template.sha256", "0".repeat(64));
    expect(containerSteps()).toEqual([]);
    stack.reset();
    set("environments.ml-env.lock", "lab-sglang-0.5.11-next");
    set("driver.version", "590.48.01");
  });

  it("outlives changed SSH keys (T1)", () => {
    set("containers.ml.sshKeys", [ANOTHER_KEY]);
    expect(containerSteps().filter((step) => !step.startsWith("update"))).toEqual([]);
    stack.deploy();
    expectDataIsThere();
  });

  it("outlives a changed mount point, which is there afterwards (T1)", () => {
    set("containers.ml.mounts", [
      { source: "/srv/models", target: "/models" },
      { source: "/srv/data", target: "/data", readOnly: false },
    ]);
    expect(stack.previewedSteps()).toContain("update ml-attach");
    expect(containerSteps()).toEqual([]);
    stack.deploy();
    expectDataIsThere();
    expect(stack.inContainer("cat /proc/mounts")).toContain(" /data ");
  });

  it("outlives what would replace it: the preview is an error that names the protection (T1)", () => {
    set("containers.ml.rootDisk.storage", "local");
    const preview = stack.pulumi("preview");
    expect(preview.status).not.toBe(0);
    expect(preview.output).toMatch(/protect/);
    set("containers.ml.rootDisk.storage", "local-lvm");
    expectDataIsThere();
  });

  it("outlives a change that Proxmox VE refused: the next up says so, and --refresh makes it (T2)", () => {
    stack.onHost(
      `echo '[{"method":"PUT","path":"/lxc/129/config","times":3,"status":400,"message":"refused by the test"}]' > /etc/lab/api-faults.json`,
    );
    set("containers.ml.memoryGiB", 5);
    expect(stack.pulumi("up", "--yes", "--skip-preview").status).not.toBe(0);
    stack.onHost("rm -f /etc/lab/api-faults.json");
    const second = stack.pulumi("up", "--yes", "--skip-preview");
    if (second.status !== 0) {
      expect(second.output).toContain("pulumi up --refresh");
      stack.deploy("--refresh");
    }
    expect(container()).toContain("memory: 5120");
    expectDataIsThere();
  });

  it("outlives a storage listing that cannot be read during a refresh (T3)", () => {
    stack.onHost(
      `echo '[{"method":"GET","path":"/storage/local/content","times":40,"status":596,"message":"Connection timed out"}]' > /etc/lab/api-faults.json`,
    );
    stack.pulumi("refresh", "--yes", "--skip-preview");
    stack.onHost("rm -f /etc/lab/api-faults.json");
    expect(containerSteps().filter((step) => !step.startsWith("update"))).toEqual([]);
    stack.deploy();
    expectDataIsThere();
  });

  it("outlives a card taken from it: no stale device stays, and the diff ends (T4)", () => {
    set("containers.ml.gpus", ["a6000-1"]);
    stack.deploy();
    expect(container().match(/^dev\d+: .*nvidia[0-9]/gm)).toHaveLength(1);
    expect(stack.inContainer("nvidia-smi -L")).toContain("GPU-8e05d9b4");
    expectDataIsThere();
    stack.deploy("--refresh");
    expect(stack.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("outlives a refresh that reads back the features set over SSH (T6)", () => {
    stack.deploy("--refresh");
    expect(container()).toContain("features: nesting=1");
    expectDataIsThere();
  });
});

describe("destroy", () => {
  it("is refused while the container is protected (T5), and the container keeps running", () => {
    const result = stack.pulumi("destroy", "--yes", "--skip-preview");
    expect(result.status).not.toBe(0);
    expect(result.output).toMatch(/protect/);
    expect(stack.onHost("pct status 129")).toBe("status: running");
  });

  it("takes away the container and what the stack put on the host, and says what stays", () => {
    set("containers.ml.protect", false);
    stack.deploy();
    const result = stack.pulumi("destroy", "--yes", "--skip-preview");
    expect(result).toMatchObject({ status: 0 });
    expect(stack.onHost("pct list")).toBe("");
    expect(
      stack.onHost("ls /etc/proxmox-gpu-stack /etc/systemd/system/gpu-nodes.service 2>/dev/null || true"),
    ).toBe("");
    expect(result.output).toContain("NVIDIA driver 590.48.01");
    expect(result.output).toContain("/srv/models/qwen3.6-tiny");
    expect(stack.onHost("nvidia-smi -L")).toContain("GPU-3c1f7a52");
    expect(stack.onHost("ls /srv/models/qwen3.6-tiny")).toContain("config.json");
  });

  it("can be followed by an up that works", async () => {
    stack.reset();
    set("driver.version", "590.48.01");
    stack.deploy();
    await expectCorrectAnswer();
  });
});
