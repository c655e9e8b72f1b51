import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { ask, PROJECT } from "./lab-stack";
import { usePreparedLab } from "./deployed-lab";
import { LocalWheelhouse } from "./wheelhouse";

const LOCK = "lab-sglang-0.5.11";
const SHARES = "/srv/wheelhouse/environments";
const OWN = "/opt/proxmox-gpu-stack/environments/second-env";
const LOG = "/var/lib/proxmox-gpu-stack/work/environment-second-env.log";

const stack = usePreparedLab();
const wheelhouse = new LocalWheelhouse(stack);
afterAll(() => {
  wheelhouse.remove();
});

type Entry = Record<string, unknown>;
const inSecond = (line: string) => stack.onHost(`pct exec 130 -- sh -c '${line}'`);
const digest = () => inSecond("basename $(readlink /opt/ml-env)");
/** Where the second container's environment has its packages. */
const packages = () => inSecond("readlink -f /opt/ml-env/lib");
const shares = () => stack.onHost(`ls -A ${SHARES}`).split("\n").filter(Boolean);
const edit = (name: string, change: Entry) => {
  stack.edit((file) => {
    Object.assign(file.environments?.[name] as Entry, change);
  });
};
/** `./stack VERB` on the stack. */
function command(verb: string, ...words: string[]) {
  const file = join(stack.folder, "Pulumi.test.yaml");
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-c", '. engine/env.sh && exec ./stack "$@"', "stack", verb, file, ...words],
    { cwd: PROJECT, encoding: "utf8", env: { ...process.env, LAB_DIR: stack.folder } },
  );
  return { status, output: stdout + stderr };
}

const expectCorrectAnswer = async () => {
  expect(await ask(`http://${stack.subnet}.130:30000`, "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

/** The environment that the first container has, in a second one too, and the service there. */
beforeAll(() => {
  wheelhouse.fetch(LOCK, `${LOCK}-next`);
  stack.edit((file) => {
    const { ml } = file.containers as Record<string, Entry>;
    const network = { ...(ml?.network as object), address: `${stack.subnet}.130/24` };
    file.containers = { ml: { ...ml, gpus: [] }, second: { ...ml, vmId: 130, network } };
    const { "ml-env": first } = file.environments as Record<string, Entry>;
    file.environments = { "ml-env": first, "second-env": { ...first, container: "second" } };
    Object.assign((file.services as Record<string, Entry>).qwen ?? {}, { environment: "second-env" });
    file.wheelhouse = { path: "/srv/wheelhouse" };
  });
  wheelhouse.deploy();
});

describe("an environment that two containers have", () => {
  it("is built in the first; the second links to the host's copy, installs nothing, and serves", async () => {
    expect(packages()).toBe(`/wheelhouse/environments/${digest()}/lib`);
    expect(inSecond(`cat ${LOG}`)).toMatch(/^linking to [^]*smoke test[^]*environment is complete$/);
    expect(inSecond(`cat ${LOG}`)).not.toContain("installing");
    expect(
      inSecond("ls -d /opt/proxmox-gpu-stack/uv-* /var/cache/proxmox-gpu-stack/uv 2>/dev/null; true"),
    ).toBe("");
    await expectCorrectAnswer();
  });

  it("runs there by its path, as a program and as a module", () => {
    expect(inSecond(`/opt/ml-env/bin/python3 -c "import sys; print(sys.prefix)"`)).toBe("/opt/ml-env");
    expect(inSecond("cd / && /opt/ml-env/bin/python3 -m sglang.launch_server --help")).toContain(
      "--model-path",
    );
  });

  it("cannot be written to by a container, and holds nothing that is not readable", () => {
    expect(stack.tryOnHost(`pct exec 130 -- touch /opt/ml-env/lib/mark`).output).toContain(
      "Read-only file system",
    );
    expect(
      stack.onHost(`find ${SHARES} ! -user root -o ! -type l ! -perm -444 -o ! -type l -perm /022`),
    ).toBe("");
  });

  it("changes nothing at the next up, and does not differ", () => {
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
    expect(command("drift")).toMatchObject({ status: 0 });
  });
});

describe("a share that is not whole", () => {
  it("is told, and the second container builds its own", async () => {
    stack.onHost(`f=$(find ${SHARES}/*/lib -path '*/prometheus_client/core.py'); echo >> $f`);
    edit("second-env", { keep: 3 });
    const { output } = stack.deploy();
    expect(output).toContain("is not as it was copied, so that the environment is built here too");
    expect(packages()).toBe(`${OWN}/${digest()}/lib`);
    await expectCorrectAnswer();
  });
});

describe("another lock", () => {
  const lock = (name: string) => {
    edit("ml-env", { lock: name });
    edit("second-env", { lock: name });
    wheelhouse.deploy();
  };

  it("is shared anew", async () => {
    lock(`${LOCK}-next`);
    expect(packages()).toBe(`/wheelhouse/environments/${digest()}/lib`);
    expect(shares()).toContain(digest());
    await expectCorrectAnswer();
  });

  it("leaves the earlier share to a container that keeps it, which can go back to it", async () => {
    const earlier = digest();
    // Of the damaged one a process had files until now; it goes.
    lock(wheelhouse.environment("shared-a", { smokeTest: 'imports = ["orjson"]' }));
    expect(shares().sort()).toEqual([digest(), earlier].sort());
    expect(command("rollback", "second-env")).toMatchObject({ status: 0 });
    expect(packages()).toBe(`/wheelhouse/environments/${earlier}/lib`);
    await expectCorrectAnswer();
  });

  it("takes it away once no container has it", async () => {
    const unused = shares().filter((name) => !packages().includes(name));
    expect(unused).toHaveLength(1);
    edit("second-env", { keep: 1 });
    // The container removes what it does not keep any more; the next share looks.
    lock(LOCK);
    expect(inSecond(`ls ${OWN}`).split("\n")).not.toContain(unused[0]);
    lock(wheelhouse.environment("shared-b", { smokeTest: 'imports = ["sglang"]' }));
    expect(shares()).not.toContain(unused[0]);
    expect(packages()).toBe(`/wheelhouse/environments/${digest()}/lib`);
    await expectCorrectAnswer();
  });
});
