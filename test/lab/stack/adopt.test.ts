import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { parseDocument } from "yaml";

import { Checkout } from "./checkout";
import { askedMeanwhile } from "./client";
import { usePreparedLab } from "./deployed-lab";
import { ask, PROJECT } from "./lab-stack";

const DRIVER = "580.105.08";
const COMMIT = "94ac6c0143eefcb6e8e108fb472487647514c3a3";
const TOKEN = "root@pam!iac=11111111-2222-3333-4444-555555555555";
const FILE = "Pulumi.test.yaml";
const MODEL = "/srv/models/qwen3.6-tiny";

const stack = usePreparedLab();
let checkout: Checkout;

/** What `adopt` printed, and its commands in their order. */
let printed = "";
let commands: string[] = [];

/** Runs the next commands that `adopt` printed, up to the first that matches. */
function follow(last: RegExp): string {
  const at = commands.findIndex((command) => last.test(command));
  if (at < 0) throw new Error(`adopt printed no such command: ${String(last)}\n${printed}`);
  const output = commands.slice(0, at + 1).map((command) => checkout.must(command));
  commands = commands.slice(at + 1);
  return output.at(-1) ?? "";
}

/** A command line that a person completes: the token is typed, the key lies elsewhere. */
function completed(command: string): string {
  return command
    .replace(/ +#.*$/, "")
    .replace(/:apiToken$/, `$& <<< '${TOKEN}'`)
    .replace("~/.ssh/id_ed25519", join(stack.folder, "client_ed25519"));
}

/** Changes values of the stack file as a person does with an editor. */
function edit(values: Readonly<Record<string, unknown>>): void {
  const document = parseDocument(checkout.read(FILE));
  for (const [path, value] of Object.entries(values)) {
    const [key = "", ...rest] = path.split(".");
    document.setIn(["config", `proxmox-gpu-stack:${key}`, ...rest], value);
  }
  writeFileSync(checkout.path(FILE), document.toString());
}

/** What must stay as it is: identities of container, server, configuration and the model's files. */
const identities = () => ({
  configuration: stack.onHost("cat /etc/pve/lxc/129.conf"),
  container: stack.inContainer("readlink /proc/1/ns/pid"),
  boot: stack.onHost("cat /proc/sys/kernel/random/boot_id"),
  server: unit("MainPID", "qwen"),
  model: stack.onHost(
    `cd ${MODEL} && find . -type f -not -path './.*' -printf '%p inode %i, written %T@\\n' | sort`,
  ),
});
const unit = (property: string, name: string) =>
  stack.inContainer(`systemctl show -P ${property} ${name}.service`);
const isEnabled = (name: string) => stack.inContainer(`sh -c 'systemctl is-enabled ${name} || true'`);
/** Requests that change something, as Proxmox VE's API got them. */
const changes = () =>
  stack.onHost("grep -E '\"(PUT|POST|DELETE)\"' /var/log/pveapi.log | grep -v access/ticket || true");

beforeAll(() => {
  const script = readFileSync(join(PROJECT, "test", "lab", "stack", "make-by-hand.sh"), "utf8");
  stack.onHost(`bash -s -- ${stack.subnet} ${DRIVER} ${COMMIT} <<'SCRIPT'\n${script}\nSCRIPT`);
  stack.untilHealthy();
  rmSync(join(stack.folder, "pulumi-state"), { recursive: true });
  checkout = new Checkout(stack);
});

describe("./stack adopt of a container that was made by hand", () => {
  it("tells what the first up does, and changes nothing", () => {
    const before = identities();
    const key = join(stack.folder, "client_ed25519");
    printed = checkout.must(
      `./stack adopt root@${stack.subnet}.5 --container 129 --out ${FILE} --identity ${key}`,
    );
    commands = printed
      .split("\n")
      .filter((line) => /^ {2}(pulumi|\.\/stack) /.test(line))
      .map((line) => completed(line.trim()));
    for (const line of [
      `keeps    NVIDIA driver ${DRIVER}, which no stack put there`,
      "keeps    running, with its devices, mounts, settings and data",
      `keeps    NVIDIA's libraries ${DRIVER}`,
      `checks   every file of ${MODEL}`,
      "adds     /opt/ml-env from the lock lab-sglang-0.5.11",
      "keeps    /root/ml-env;",
      "differs  orjson 3.11.0 -> 3.13.0",
      "keeps    qwen.service, which goes on serving",
      "That is the one outage.",
    ])
      expect(printed).toContain(line);
    expect(printed).not.toMatch(/^ {4}(changes|restarts) /m);
    expect(identities()).toEqual(before);
  });

  it("leaves to fill in what nobody can see on a host, and check is content then", () => {
    const sums = `file:${join(stack.folder, "SHA256SUMS")}`;
    const files = `http://${stack.subnet}.1:8080`;
    edit({
      "driver.installer.url": `${files}/nvidia/NVIDIA-Linux-x86_64-{version}.run`,
      "driver.installer.sha256": sums,
      "containers.ml.template.url": `${files}/template/debian-12-standard_12.12-1_amd64.tar.zst`,
      "containers.ml.template.sha256": sums,
      // The lab's own hub and index.
      "models.qwen3-6-tiny.endpoint": `http://${stack.subnet}.1:8090`,
      "environments.ml-env.index": `http://${stack.subnet}.1:3141/simple`,
      "services.qwen3-6-tiny.startTimeoutMinutes": 5,
      "services.qwen3-6-tiny.stopTimeoutSeconds": 20,
    });
    expect(follow(/^\.\/stack check/)).not.toMatch(/unknown|missing/);
  });

  it("comes into the stack's state by the commands that it prints; the preview leaves the container alone", () => {
    const before = identities();
    follow(/^pulumi import/);
    const { steps } = JSON.parse(checkout.must("pulumi preview --stack test --json 2>/dev/null")) as {
      steps: { op: string; urn: string; diffReasons?: string[] }[];
    };
    // An import knows none of the provider's own settings: nothing is sent for them.
    const [container, ...others] = steps.filter(({ op }) => !["same", "create"].includes(op));
    expect(others).toEqual([]);
    expect(container).toMatchObject({
      op: "update",
      urn: expect.stringMatching(/::ml-container$/) as string,
    });
    expect(container?.diffReasons?.filter((name) => !/^(timeout[A-Z]|vmId$)/.test(name))).toEqual([]);
    expect(follow(/^pulumi preview/)).toContain("qwen3-6-tiny-service");
    expect(identities()).toEqual(before);
  });
});

describe("the first up", () => {
  it("takes nothing from clients of the hand-made service, and keeps what is as declared", () => {
    const before = identities();
    const requests = changes();
    const { good, failed } = askedMeanwhile(stack, () => follow(/^pulumi up --stack test$/));
    expect(failed).toBe(0);
    expect(good).toBeGreaterThan(20);
    expect(identities()).toEqual(before);
    expect(changes().replace(requests, "")).not.toMatch(/lxc\/129/);
    expect(unit("ActiveState", "sglang-qwen3-6-tiny")).toBe("inactive");
  });

  it("leaves nothing to do, and no drift", () => {
    checkout.must("pulumi preview --stack test --refresh --expect-no-changes");
    expect(checkout.run(`./stack drift ${FILE}`)).toMatchObject({ status: 0 });
  });
});

describe("the switch to the stack's own unit", () => {
  const misbehave = (text: string) =>
    stack.onHost(`pct exec 129 -- sh -c 'mkdir -p /etc/lab; cat > /etc/lab/sglang.json' <<< '${text}'`);

  it("that fails its gate has the hand-made unit serve again, and up says why", async () => {
    misbehave('{"when": {"max_running_requests": 9}, "text": "loop-word"}');
    edit({
      "services.qwen3-6-tiny.maxRunningRequests": 9,
      "services.qwen3-6-tiny.enabled": true,
    });
    const { status, output } = checkout.run("pulumi up --stack test --skip-preview");
    expect(status).not.toBe(0);
    expect(output).toMatch(/does not pass its health gate: .*(loop|repeat)/i);
    expect(output).toContain("qwen.service was started again");
    stack.untilHealthy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
    expect([unit("ActiveState", "qwen"), isEnabled("qwen")]).toEqual(["active", "enabled"]);
    expect([unit("ActiveState", "sglang-qwen3-6-tiny"), isEnabled("sglang-qwen3-6-tiny")]).toEqual([
      "inactive",
      "disabled",
    ]);
  });

  it("is one outage when it passes, and the hand-made unit does not come back at a boot", () => {
    stack.inContainer("rm /etc/lab/sglang.json");
    edit({
      "services.qwen3-6-tiny.maxRunningRequests": 5,
      "services.qwen3-6-tiny.enabled": false,
    });
    let output = "";
    const { outages } = askedMeanwhile(stack, () => {
      output = follow(/^pulumi up --stack test$/);
    });
    expect(output).toContain("stopping qwen.service: sglang-qwen3-6-tiny.service takes its place");
    expect(outages).toBe(1);
    expect([unit("ActiveState", "qwen"), isEnabled("qwen")]).toEqual(["inactive", "disabled"]);
    expect([unit("ActiveState", "sglang-qwen3-6-tiny"), isEnabled("sglang-qwen3-6-tiny")]).toEqual([
      "active",
      "enabled",
    ]);
  });

  it("leaves nothing to do, no drift and no mark of the adoption in the stack file", () => {
    expect(commands).toEqual([]);
    expect(checkout.read(FILE)).not.toContain("adopt: true");
    checkout.must("pulumi preview --stack test --refresh --expect-no-changes");
    expect(checkout.run(`./stack drift ${FILE}`)).toMatchObject({ status: 0 });
  });
});
