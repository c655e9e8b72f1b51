import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { usePreparedLab } from "./deployed-lab";
import { ask, PROJECT } from "./lab-stack";

const stack = usePreparedLab();

interface Outcome {
  readonly healthy: boolean;
  readonly recovered: boolean;
  readonly differences: string[];
  readonly holders: string[];
  readonly error?: string;
}

/** `./stack recover` as a user runs it. */
function recover(service = "qwen"): { status: number | null; outcome: Outcome; progress: string } {
  const file = join(stack.folder, "Pulumi.test.yaml");
  const { status, stdout, stderr } = spawnSync("./stack", ["recover", file, service, "--json"], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  if (!stdout.startsWith("{")) throw new Error(`no outcome, exit ${status}:\n${stderr}`);
  return { status, outcome: JSON.parse(stdout) as Outcome, progress: stderr };
}

const property = (name: string, unit = "sglang-qwen") =>
  stack.inContainer(`systemctl show -P ${name} ${unit}`);
const script = (text: string) => stack.onHost(`pct exec 129 -- bash -s <<'SCRIPT'\n${text}\nSCRIPT`);
/** Processes of a unit's control group. */
const processesOf = (unit: string) =>
  script(`grep -l '/${unit}.service' /proc/[0-9]*/cgroup 2>/dev/null || true`);
const freeMiB = () =>
  stack.onHost("nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits").split("\n").map(Number);
const expectCorrectAnswer = async (port: number) => {
  expect(await ask(stack.endpoint(port), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

/** Two services, each on a card of its own. */
function twoServices(): void {
  stack.edit((file) => {
    const qwen = file.services?.qwen as Record<string, unknown>;
    file.services = {
      qwen: { ...qwen, gpus: ["a6000-0"], tensorParallel: 1 },
      second: { ...qwen, gpus: ["a6000-1"], tensorParallel: 1, port: 30001 },
    };
  });
}

/** Kills the scheduler of the service, as a crash would. */
function crash(): void {
  script(`
for file in /proc/[0-9]*/cgroup; do
  pid=\${file//[^0-9]/}
  grep -q '/sglang-qwen.service' "$file" && grep -q '^sglang::schedul' "/proc/$pid/comm" && kill -KILL "$pid"
done
true`);
}

describe("a service whose scheduler was killed", () => {
  let second = "";

  beforeAll(() => {
    twoServices();
    stack.deploy();
    second = property("MainPID", "sglang-second");
  });

  it("is gone whole: no process of its unit, and the memory of its card is free", () => {
    const before = freeMiB();
    crash();
    stack.untilOnHost("pct exec 129 -- systemctl show -P SubState sglang-qwen | grep -qx auto-restart");
    expect(processesOf("sglang-qwen")).toBe("");
    expect(freeMiB()[0]).toBeGreaterThan(before[0] ?? NaN);
    expect(freeMiB()[1]).toBe(before[1]);
  });

  it("is brought back by recovery, and passes its gate", async () => {
    const { status, outcome, progress } = recover();
    expect(progress).toContain("/health answers 200");
    expect({ status, ...outcome }).toMatchObject({ status: 0, healthy: true, recovered: true, holders: [] });
    expect(outcome.differences.join()).toMatch(/sglang-qwen\.service is (activating|failed)/);
    await expectCorrectAnswer(30000);
  });

  it("is left alone by a second recovery", async () => {
    const pid = property("MainPID");
    const { status, outcome } = recover();
    expect({ status, ...outcome }).toMatchObject({ status: 0, healthy: true, recovered: false });
    expect(outcome.holders).toEqual([
      expect.stringMatching(/^process \d+ \(sglang::.*\) of sglang-qwen\.service$/),
    ]);
    expect(property("MainPID")).toBe(pid);
    await expectCorrectAnswer(30000);
  });

  it("has a neighbour on the other card, which kept its process and answers", async () => {
    expect(property("MainPID", "sglang-second")).toBe(second);
    await expectCorrectAnswer(30001);
  });
});

/** Starts a unit whose only process holds the first card: a node of the lab opens by its path alone. */
function holdFirstCard(unit: string): string {
  const program = "import os, time; os.open('/dev/nvidia0', os.O_PATH); time.sleep(100000)";
  script(`systemd-run --quiet --unit=${unit} /opt/ml-env/bin/python3 -c "${program}"\nsleep 2`);
  return property("MainPID", unit);
}

describe("recovery", () => {
  it("ends what is left of the unit's own control group, and puts back a unit that was edited", async () => {
    stack.inContainer("systemctl stop sglang-qwen");
    const pid = holdFirstCard("left-over");
    script(`
sed -i 's/^Description=.*/Description=edited/' /etc/systemd/system/sglang-qwen.service
mkdir -p /sys/fs/cgroup/system.slice/sglang-qwen.service
echo ${pid} > /sys/fs/cgroup/system.slice/sglang-qwen.service/cgroup.procs`);
    expect(processesOf("sglang-qwen")).not.toBe("");
    const { status, outcome, progress } = recover();
    expect(outcome.holders).toEqual([expect.stringMatching(/\(python3\) of sglang-qwen\.service$/)]);
    expect(progress).toMatch(/ending process \d+ \(python3\) of sglang-qwen\.service/);
    expect({ status, ...outcome }).toMatchObject({ status: 0, recovered: true });
    expect(outcome.differences).toContain(
      "/etc/systemd/system/sglang-qwen.service is not as it was when the service passed its gate",
    );
    expect(stack.inContainer("cat /etc/systemd/system/sglang-qwen.service")).not.toContain("edited");
    await expectCorrectAnswer(30000);
  });

  it("names a holder of another unit and stops there; that one lives", () => {
    stack.inContainer("systemctl stop sglang-qwen");
    const training = holdFirstCard("training");
    const { status, outcome } = recover();
    expect({ status, ...outcome }).toMatchObject({ status: 1, healthy: false, recovered: false });
    expect(outcome.error).toBe(
      `others hold the cards of sglang-qwen.service, which is stopped: process ${training} (python3) of training.service`,
    );
    expect(property("MainPID", "training")).toBe(training);
    expect(property("ActiveState")).toBe("inactive");
    stack.inContainer("systemctl stop training");
  });

  it("that fails its gate says why and leaves the service stopped, not in a loop of restarts", () => {
    script(
      `systemctl stop sglang-qwen; mkdir -p /etc/lab; echo '{"text": "loop-word"}' > /etc/lab/sglang.json`,
    );
    const { status, outcome } = recover();
    expect(status).toBe(1);
    expect(outcome.error).toMatch(/does not pass its health gate: .*(loop|repeat)/i);
    expect(property("ActiveState")).toBe("inactive");
    script("rm /etc/lab/sglang.json");
    expect(recover()).toMatchObject({ status: 0, outcome: { healthy: true, recovered: true } });
  });

  it("of a service that the stack has not is refused with the names that it has", () => {
    expect(() => recover("qwem")).toThrow('has no service "qwem": it has qwen or second; did you mean qwen?');
  });
});

describe("a unit that fails at its start", () => {
  /** Takes the second service away, and declares another one for its card. */
  function thirdInsteadOfSecond(): void {
    stack.edit((file) => {
      delete file.services?.second;
    });
    stack.deploy();
    stack.edit((file) => {
      const qwen = file.services?.qwen as Record<string, unknown>;
      file.services = {
        qwen,
        third: { ...qwen, gpus: ["a6000-1"], port: 30002, maxRunningRequests: 5 },
      };
    });
  }

  it("fails the up within seconds of the failure, with the decisive line; nothing restarts behind it", () => {
    thirdInsteadOfSecond();
    script(
      `mkdir -p /etc/lab; echo '{"when": {"max_running_requests": 5}, "start": "crash"}' > /etc/lab/sglang.json`,
    );
    const started = Date.now();
    const result = stack.pulumi("up", "--yes", "--skip-preview");
    const seconds = (Date.now() - started) / 1000;
    expect(result.status).not.toBe(0);
    expect(result.output).toMatch(/does not pass its health gate: .*decisive log line: \S/);
    // The service may take five minutes to come up; its failure is told at once.
    expect(seconds).toBeLessThan(120);
    // Not even waiting for a restart, and nobody is there to start it.
    expect(property("SubState", "sglang-third")).toBe("dead");
    expect(stack.inContainer("systemctl list-jobs --no-legend")).not.toContain("sglang-third");
    expect(property("ActiveState", "sglang-third-probe.timer")).toBe("inactive");
  });
});

describe("onDegenerate: restart", () => {
  it("restarts a server whose text went bad, once an hour and not more often", () => {
    script("rm /etc/lab/sglang.json");
    stack.edit((file) => {
      Object.assign(file.services?.third ?? {}, { onDegenerate: "restart" });
    });
    stack.deploy();
    const probe = () => stack.tryOnHost("pct exec 129 -- systemctl start sglang-third-probe").status;
    const first = property("MainPID", "sglang-third");
    expect(probe()).toBe(0);
    expect(property("MainPID", "sglang-third")).toBe(first);

    script(`echo '{"text": "loop-sentence"}' > /etc/lab/sglang.json`);
    expect(probe()).not.toBe(0);
    stack.untilOnHost(`! pct exec 129 -- systemctl show -P MainPID sglang-third | grep -qx ${first}`);
    stack.untilHealthy(30002);
    const second = property("MainPID", "sglang-third");
    expect(second).not.toBe(first);
    expect(property("ActiveState", "sglang-third")).toBe("active");

    expect(probe()).not.toBe(0);
    expect(property("MainPID", "sglang-third")).toBe(second);
    const state = JSON.parse(stack.inContainer("cat /var/lib/proxmox-gpu-stack/probe/third.json")) as {
      state: string;
      restart: string;
      restarts: number[];
    };
    expect(state).toMatchObject({ state: "degenerate", restarts: [expect.any(Number)] });
    expect(state.restart).toContain("allowed are 1");
    expect(stack.inContainer("journalctl -u sglang-third-probe -o cat --no-pager")).toMatch(
      /sglang-third\.service degenerate: .*loop/i,
    );
  });
});
