import { renderServiceFiles } from "../../../plan/unit/service-files";
import { execArgument, environmentLine } from "../../../plan/unit/quote";
import { sample } from "./samples";

const UNIT = "/etc/systemd/system/sglang-qwen.service";
const ENVIRONMENT = "/etc/proxmox-gpu-stack/services/qwen/environment";

function text(changes: Parameters<typeof sample>[0], file: string): string {
  return renderServiceFiles(sample(changes))[file] ?? "";
}

/** Values of a setting in a unit. */
function settings(unit: string, key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map((match) => match[1] ?? "");
}

test("the same input gives the same text, whatever the order of variables", () => {
  const a = renderServiceFiles(sample({ environment: { A: "1", B: "2" } }));
  const b = renderServiceFiles(sample({ environment: { B: "2", A: "1" } }));
  expect(a).toEqual(b);
});

test("every file says who manages it", () => {
  for (const content of Object.values(renderServiceFiles(sample()))) {
    expect(content).toMatch(/^# Managed by proxmox-gpu-stack: host kpro5, service qwen\.\n/);
  }
});

test("a stop goes to the main process as SIGINT and ends in a finite time", () => {
  const unit = text({ stopTimeoutSeconds: 77 }, UNIT);
  expect(settings(unit, "KillSignal")).toEqual(["SIGINT"]);
  expect(settings(unit, "KillMode")).toEqual(["mixed"]);
  expect(settings(unit, "TimeoutStopSec")).toEqual(["77"]);
  // SIGKILL is how a crashed server ends: it must not count as success, or it would not be started again.
  expect(settings(unit, "SuccessExitStatus")).toEqual([]);
  expect(settings(unit, "Restart")).toEqual(["on-failure"]);
});

test.each([5, 30, 90])("all starts of one start-limit interval fit their loads of %d minutes", (minutes) => {
  const unit = text({ startTimeoutMinutes: minutes }, UNIT);
  const burst = Number(settings(unit, "StartLimitBurst")[0]);
  const pause = Number(settings(unit, "RestartSec")[0]);
  expect(burst).toBeGreaterThan(1);
  expect(Number(settings(unit, "StartLimitIntervalSec")[0])).toBeGreaterThan(burst * (minutes * 60 + pause));
});

test("wrong arguments are not tried again: exit code 2 of the parser prevents a restart", () => {
  expect(settings(text({}, UNIT), "RestartPreventExitStatus")).toEqual(["2"]);
});

test("conflicting services stop each other, ordered one way only", () => {
  const kimi = renderServiceFiles(sample({ name: "kimi", conflicts: ["sglang-qwen.service"] }));
  const qwen = renderServiceFiles(sample({ name: "qwen", conflicts: ["sglang-kimi.service"] }));
  expect(settings(kimi["/etc/systemd/system/sglang-kimi.service"] ?? "", "Conflicts")).toEqual([
    "sglang-qwen.service",
  ]);
  expect(settings(qwen[UNIT] ?? "", "Conflicts")).toEqual(["sglang-kimi.service"]);
  const ordered = [kimi["/etc/systemd/system/sglang-kimi.service"], qwen[UNIT]].filter((unit) =>
    settings(unit ?? "", "After").some((value) => value.startsWith("sglang-")),
  );
  expect(ordered.length).toBe(1);
});

test("the GPUs and compilers stay usable: nothing that closes the device list or forbids generated code", () => {
  const unit = text({}, UNIT);
  for (const key of [
    "PrivateDevices",
    "DevicePolicy",
    "DeviceAllow",
    "ProtectClock",
    "MemoryDenyWriteExecute",
    "PrivateIPC",
  ]) {
    expect(settings(unit, key)).toEqual([]);
  }
  expect(settings(unit, "ProtectHome")).toEqual(["yes"]);
});

test("an environment or model below /root or /home is not hidden from the server", () => {
  expect(settings(text({ environmentPath: "/root/ml-env" }, UNIT), "ProtectHome")).toEqual(["read-only"]);
  expect(settings(text({ modelPaths: ["/home/models/x"] }, UNIT), "ProtectHome")).toEqual(["read-only"]);
});

test("caches of compiled kernels outlive a restart: they lie in the state directory, which is HOME", () => {
  const unit = text({}, UNIT);
  const environment = text({}, ENVIRONMENT);
  expect(settings(unit, "StateDirectory")).toEqual(["sglang-qwen"]);
  for (const name of ["HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"]) {
    expect(environment).toMatch(new RegExp(`^${name}="/var/lib/sglang-qwen`, "m"));
  }
});

test("the compiler of CUDA_HOME is in the path", () => {
  const environment = text({ environment: { CUDA_HOME: "/usr/local/cuda-13.0" } }, ENVIRONMENT);
  expect(environment).toContain('PATH="/opt/ml-env/bin:/usr/local/cuda-13.0/bin:/usr/local/sbin');
});

test("a part of the container's cards is chosen by UUID, all of them by saying nothing", () => {
  const uuid = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
  expect(text({ visibleGpus: [uuid] }, ENVIRONMENT)).toContain(`CUDA_VISIBLE_DEVICES="${uuid}"`);
  expect(text({}, ENVIRONMENT)).not.toContain("CUDA_VISIBLE_DEVICES");
});

test("an API key reaches the server through a credential, never through unit, environment or command line", () => {
  const unit = text({ apiKey: true }, UNIT);
  expect(unit).not.toContain("--api-key");
  expect(settings(unit, "LoadCredential")).toEqual([
    "arguments.yaml:/etc/proxmox-gpu-stack/services/qwen/arguments.yaml",
  ]);
  expect(unit).toContain("--config /run/credentials/sglang-qwen.service/arguments.yaml");
  expect(text({}, UNIT)).not.toContain("LoadCredential");
});

test("a failed repeated probe restarts the server only when the stack says so", () => {
  const probe = "/etc/systemd/system/sglang-qwen-probe.service";
  expect(text({ onDegenerate: "restart" }, probe)).toContain("--restart-on-degenerate");
  expect(text({ onDegenerate: "report" }, probe)).not.toContain("--restart-on-degenerate");
});

test("the timer repeats the probe in the stack's interval", () => {
  const timer = text({ probeIntervalMinutes: 7 }, "/etc/systemd/system/sglang-qwen-probe.timer");
  expect(settings(timer, "OnUnitInactiveSec")).toEqual(["420"]);
});

describe("quoting", () => {
  test.each([
    ["plain-1.5/x", "plain-1.5/x"],
    ["50%", "50%%"],
    ["$HOME", "$$HOME"],
    ['{"a": 1}', '"{\\"a\\": 1}"'],
    ["a\\b c", '"a\\\\b c"'],
    ["it's", '"it\'s"'],
    ["", '""'],
  ])("of the argument %j is %j", (argument, expected) => {
    expect(execArgument(argument)).toBe(expected);
  });

  test("of a variable keeps quotes and backslashes", () => {
    expect(environmentLine("A", 'x "y" \\ $z')).toBe('A="x \\"y\\" \\\\ \\$z"');
  });

  test("refuses what a unit file cannot hold", () => {
    expect(() => execArgument("a\nExecStartPre=/bin/true")).toThrow("control characters");
    expect(() => environmentLine("A", "b\nC=d")).toThrow("control characters");
  });
});
