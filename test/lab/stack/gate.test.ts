import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { usePreparedLab } from "./deployed-lab";
import { ask, PROJECT } from "./lab-stack";

const UNIT = "/etc/systemd/system/sglang-qwen.service";
const stack = usePreparedLab();

/** Tells the serving stand-in in the container how to behave when it was started with that many requests. */
function misbehaveWith(maxRunningRequests: number, how: Record<string, unknown>): void {
  const text = JSON.stringify({ when: { max_running_requests: maxRunningRequests }, ...how });
  stack.onHost(
    `echo '${text}' > /tmp/sglang.json && pct exec 129 -- mkdir -p /etc/lab && pct push 129 /tmp/sglang.json /etc/lab/sglang.json --perms 644`,
  );
}

function setRequests(value: number): void {
  stack.edit((file) => {
    (file.services?.qwen as Record<string, unknown>).maxRunningRequests = value;
  });
}

const up = () => stack.pulumi("up", "--yes", "--skip-preview");
/** `./stack status` as a user runs it. */
const status = () =>
  spawnSync("./stack", ["status", join(stack.folder, "Pulumi.test.yaml")], {
    cwd: PROJECT,
    encoding: "utf8",
  });
const unitText = () => stack.inContainer(`cat ${UNIT}`);
const expectCorrectAnswer = async () => {
  expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

describe("a first installation that answers in loops", () => {
  it("fails up with the pattern found, and is left stopped and disabled", () => {
    setRequests(3);
    misbehaveWith(3, { text: "loop-sentence" });
    const result = up();
    expect(result.status).not.toBe(0);
    expect(result.output).toMatch(/does not pass its health gate: .*loop/i);
    expect(stack.inContainer("systemctl show -P ActiveState sglang-qwen")).toBe("inactive");
    expect(stack.inContainer("sh -c 'systemctl is-enabled sglang-qwen || true'")).toBe("disabled");
  });
});

describe("a service that worked, changed so that it fails", () => {
  it.each([
    ["answers in loops", 7, { text: "loop-word" }, /does not pass its health gate: .*(loop|repeat)/i],
    ["answers nothing", 8, { text: "both-null" }, /does not pass its health gate: /i],
    ["answers wrongly", 9, { text: "wrong" }, /does not pass its health gate: /i],
    ["crashes at its start", 10, { start: "crash" }, /does not pass its health gate: /i],
    [
      "says another value than declared",
      11,
      { serverInfo: { attention_backend: "fa3" } },
      /attention_backend/,
    ],
  ])("because it %s is rolled back, and up says why", async (_what, requests, how, reason) => {
    stack.inContainer("rm -f /etc/lab/sglang.json");
    setRequests(requests - 6);
    stack.deploy();
    const good = unitText();
    setRequests(requests);
    misbehaveWith(requests, how);
    const result = up();
    expect(result.status).not.toBe(0);
    expect(result.output).toMatch(reason);
    expect(result.output).toContain("the last good version serves again");
    expect(unitText()).toBe(good);
    await expectCorrectAnswer();
  });

  it("is as declared after the next up, once the cause is gone", async () => {
    stack.inContainer("rm -f /etc/lab/sglang.json");
    setRequests(12);
    stack.deploy();
    expect(unitText()).toContain("--max-running-requests 12");
    await expectCorrectAnswer();
    expect(stack.pulumi("preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });
});

describe("the repeated probe", () => {
  // A server that was just restarted is not there yet.
  beforeEach(() => {
    stack.untilHealthy();
  });

  it("finds a server that begins to answer in loops, and marks it in the metric", () => {
    misbehaveWith(12, { text: "loop-sentence" });
    const run = stack.tryOnHost("pct exec 129 -- systemctl start sglang-qwen-probe");
    expect(run.status).not.toBe(0);
    expect(stack.inContainer("sh -c 'cat /var/lib/proxmox-gpu-stack/probe/*.prom'")).toMatch(
      /^sglang_probe_healthy\{[^}]*\} 0$/m,
    );
    stack.inContainer("rm -f /etc/lab/sglang.json");
    stack.inContainer("systemctl start sglang-qwen-probe");
    expect(stack.inContainer("sh -c 'cat /var/lib/proxmox-gpu-stack/probe/*.prom'")).toMatch(
      /^sglang_probe_healthy\{[^}]*\} 1$/m,
    );
  });

  it("makes `./stack status` exit with 1 while it finds loops, and with 0 after", () => {
    misbehaveWith(12, { text: "loop-sentence" });
    stack.tryOnHost("pct exec 129 -- systemctl start sglang-qwen-probe");
    expect(status()).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("says degenerate: ") as string,
    });
    stack.inContainer("rm -f /etc/lab/sglang.json");
    stack.inContainer("systemctl start sglang-qwen-probe");
    expect(status()).toMatchObject({ status: 0, stderr: "" });
  });
});
