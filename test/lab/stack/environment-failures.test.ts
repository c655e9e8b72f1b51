import { ask } from "./lab-stack";
import { useDeployedLab } from "./deployed-lab";
import { LocalWheelhouse } from "./wheelhouse";

const LOCK = "lab-sglang-0.5.11";
const BUILD = "proxmox-gpu-stack-environment-ml-env";
const UV_CACHE = "/var/cache/proxmox-gpu-stack/uv";

const stack = useDeployedLab();
const wheelhouse = new LocalWheelhouse(stack);
afterAll(() => {
  wheelhouse.remove();
});

const setLock = (lock: string) => {
  stack.edit((file) => {
    (file.environments?.["ml-env"] as Record<string, unknown>).lock = lock;
  });
};
const current = () => stack.inContainer("readlink /opt/ml-env");
const pid = () => stack.inContainer("systemctl show -P MainPID sglang-qwen");
const halfBuilt = () =>
  stack.onHost(
    "pct exec 129 -- sh -c 'for e in /opt/proxmox-gpu-stack/environments/ml-env/*/; do test -e $e.complete || echo $e; done'",
  );
const expectCorrectAnswer = async () => {
  expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

/** An `up` that must fail while the old environment goes on serving; returns what it said. */
async function failingUp(): Promise<string> {
  const before = [current(), pid()];
  const { status, output } = stack.pulumi("up", "--yes", "--skip-preview");
  expect(status).not.toBe(0);
  expect([current(), pid()]).toEqual(before);
  expect(halfBuilt()).toBe("");
  await expectCorrectAnswer();
  return output;
}

const building = () => stack.until(`pct exec 129 -- systemctl show -P ActiveState ${BUILD}`, /^active/);
/** The path of a file of the wheelhouse on the host. */
const onHost = (name: string) => stack.onHost(`ls /srv/wheelhouse/files/*/${name}`);

/** A package whose import takes so long that the build can be met in its middle. */
const slow = (version: string) =>
  wheelhouse.environment(`slow-${version}`, {
    packages: [wheelhouse.wheel("lab_slow", version, { "lab_slow.py": "import time\ntime.sleep(15)\n" })],
    smokeTest: 'imports = ["lab_slow"]',
  });

beforeAll(() => {
  wheelhouse.fetch(LOCK, `${LOCK}-next`);
  stack.edit((file) => {
    file.wheelhouse = { path: "/srv/wheelhouse" };
  });
  wheelhouse.deploy();
});

describe("a build that cannot end well", () => {
  it("for a wheel that is missing is not begun; pushing it brings the environment up", async () => {
    setLock(`${LOCK}-next`);
    const output = await failingUp();
    expect(output).toMatch(/lacks orjson-3\.11\.4-\S+\.whl/);
    expect(output).toContain("./stack wheelhouse push STACK");
    wheelhouse.deploy();
    await expectCorrectAnswer();
  });

  it("for a wheel that was damaged on the host names it, takes it away, and push brings it anew", async () => {
    const lock = wheelhouse.environment("damaged", {
      packages: [wheelhouse.wheel("lab_damaged", "1.0", { "lab_damaged.py": "" })],
    });
    setLock(lock);
    wheelhouse.push();
    stack.onHost(
      `f=$(ls /srv/wheelhouse/files/*/lab_damaged-1.0-py3-none-any.whl); chmod 644 $f; printf x | dd of=$f bs=1 seek=60 conv=notrunc status=none`,
    );
    const output = await failingUp();
    expect(output).toMatch(/damaged, so of no use: lab_damaged-1\.0-py3-none-any\.whl/);
    wheelhouse.deploy();
    await expectCorrectAnswer();
  });

  it("for a wheel that is damaged behind the record's back is found by the installer, with its path", async () => {
    const lock = wheelhouse.environment("rotten", {
      packages: [wheelhouse.wheel("lab_rotten", "1.0", { "lab_rotten.py": "" })],
    });
    setLock(lock);
    wheelhouse.push();
    // The host verifies it, then it changes: same size, same time.
    stack.pulumi("up", "--yes", "--skip-preview", "--target", "**wheelhouse-files");
    const file = onHost("lab_rotten-1.0-py3-none-any.whl");
    stack.onHost(
      `touch -r ${file} /tmp/time; chmod 644 ${file}; printf x | dd of=${file} bs=1 seek=60 conv=notrunc status=none; touch -r /tmp/time ${file}`,
    );
    const output = await failingUp();
    expect(output).toContain(`damaged in the wheelhouse: ${file.replace("/srv/wheelhouse", "/wheelhouse")}`);
    stack.onHost(`rm ${file}`);
    wheelhouse.deploy();
    await expectCorrectAnswer();
  });

  it("for kernels that were built for another torch fails its smoke test, which says so", async () => {
    const torch = (version: string) =>
      wheelhouse.wheel("torch", version, {
        "torch/__init__.py": `from . import version\n__version__ = "${version}"\n`,
        "torch/version.py": 'cuda = "13.0"\n',
      });
    const kernels = wheelhouse.wheel("sgl_kernel", "0.3.21", {
      "sgl_kernel/__init__.py":
        'import torch\nif torch.__version__ != "2.9.1":\n    raise ImportError("common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa")\n',
    });
    const smokeTest = 'imports = ["torch", "sgl_kernel"]\ncuda = "13.0"';
    setLock(wheelhouse.environment("torch-new", { packages: [torch("2.11.0"), kernels], smokeTest }));
    wheelhouse.push();
    const output = await failingUp();
    expect(output).toContain(
      "smoke test failed: import sgl_kernel: ImportError: common_ops.abi3.so: undefined symbol",
    );
    setLock(wheelhouse.environment("torch-right", { packages: [torch("2.9.1"), kernels], smokeTest }));
    wheelhouse.deploy();
    await expectCorrectAnswer();
  });

  it("for a full disk says so, leaves nothing half built, and is finished by the next up", async () => {
    const filling = { "lab_large.py": `"""${"0123456789abcdef".repeat(5000)}"""\n` };
    setLock(wheelhouse.environment("large", { packages: [wheelhouse.wheel("lab_large", "1.0", filling)] }));
    wheelhouse.push();
    stack.inContainer(`mount -t tmpfs -o size=200k tmpfs ${UV_CACHE}`);
    const output = await failingUp();
    expect(output).toContain("the disk is full");
    expect(output).toContain("rootDisk.sizeGiB");
    stack.inContainer(`umount ${UV_CACHE}`);
    stack.deploy();
    await expectCorrectAnswer();
  });
});

describe("a build that is cut off", () => {
  it("by a lost connection goes on without it, and the next up joins or finds it", async () => {
    setLock(slow("1.0"));
    wheelhouse.push();
    const before = pid();
    const first = stack.startUp();
    await building();
    stack.tryOnHost(
      "systemd-run --quiet --on-active=3 systemctl start ssh; systemctl stop ssh; pkill -9 -x sshd",
    );
    expect(await first).not.toBe(0);
    await stack.until("echo back", /back/);
    // Whether the link is switched already or not: nobody restarted the service.
    expect(pid()).toBe(before);
    await expectCorrectAnswer();
    stack.deploy();
    const log = stack.inContainer("cat /var/lib/proxmox-gpu-stack/work/environment-ml-env.log");
    expect(log.match(/environment is complete/g)).toHaveLength(1);
    await expectCorrectAnswer();
  });

  it("by a reboot of the host ends with the old environment serving; the next up finishes", async () => {
    setLock(slow("2.0"));
    wheelhouse.push();
    const before = current();
    const first = stack.startUp();
    await building();
    stack.lab("reboot", "pve1");
    expect(await first).not.toBe(0);
    stack.untilHealthy();
    expect(current()).toBe(before);
    await expectCorrectAnswer();
    stack.deploy();
    expect(current()).not.toBe(before);
    expect(halfBuilt()).toBe("");
    await expectCorrectAnswer();
  });
});
