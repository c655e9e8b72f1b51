import { spawnSync } from "node:child_process";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

const LEFT = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
const RIGHT = "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2";

/** libcuda in Python: `results` gives the status of a call, 0 where nothing is said. */
const FAKE_LIBRARY = `
import ctypes, json, os
plan = json.loads(os.environ["CUDA_PLAN"])

class Library:
    def __getattr__(self, name):
        def function(*arguments):
            status = plan["results"].get(name, 0)
            if name == "cuDeviceGetCount": arguments[0]._obj.value = len(plan["cards"])
            elif name == "cuDeviceGet": arguments[0]._obj.value = arguments[1]
            elif name == "cuDeviceGetName": arguments[0].value = b"NVIDIA RTX A6000"
            elif name == "cuDeviceGetUuid":
                uuid = plan["cards"][arguments[1].value].removeprefix("GPU-").replace("-", "")
                for i, byte in enumerate(bytes.fromhex(uuid)): arguments[0]._obj[i] = byte
            elif name == "cuGetErrorString": arguments[1]._obj.value = b"the driver's own words"
            elif name == "cuCtxDestroy_v2": assert plan["results"].get("cuCtxCreate_v2", 0) == 0
            return status
        return function

ctypes.CDLL = lambda name: Library()
`;

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
  sandbox.write("python/sitecustomize.py", FAKE_LIBRARY);
});
afterEach(() => {
  sandbox.remove();
});

interface Plan {
  readonly cards: readonly string[];
  readonly results?: Readonly<Record<string, number>>;
}

const planText = ({ cards, results = {} }: Plan) => JSON.stringify({ cards, results });

function check(plan: Plan, count: number) {
  const result = spawnSync("python3", ["-", String(count)], {
    input: scriptText("tools/cuda-check.py"),
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: sandbox.path("python"), CUDA_PLAN: planText(plan) },
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

describe("opening a CUDA context on each card", () => {
  it("lists the cards by name and UUID", () => {
    expect(check({ cards: [LEFT, RIGHT] }, 2)).toEqual({
      status: 0,
      output: `NVIDIA RTX A6000 ${LEFT}\nNVIDIA RTX A6000 ${RIGHT}\n`,
    });
  });

  it.each([
    ["cuInit", 999],
    ["cuInit", 803],
    ["cuDeviceGetCount", 100],
    ["cuCtxCreate_v2", 101],
  ])("that fails in %s tells its error %d in the driver's words", (name, status) => {
    expect(check({ cards: [LEFT], results: { [name]: status } }, 1)).toEqual({
      status: 1,
      output: `${name}: CUDA error ${status}: the driver's own words\n`,
    });
  });

  it("takes a card without free memory for working: a server has it", () => {
    expect(check({ cards: [LEFT], results: { cuCtxCreate_v2: 2 } }, 1).status).toBe(0);
  });

  it("refuses another number of cards", () => {
    expect(check({ cards: [LEFT] }, 2)).toEqual({
      status: 1,
      output: "CUDA sees 1 devices, declared are 2\n",
    });
  });
});

describe("the step", () => {
  /** Runs it with nvidia-smi listing `listed` and libcuda as planned. */
  function step(listed: string, plan: Plan, uuids: readonly string[]) {
    sandbox.command("nvidia-smi", listed);
    const text = sandbox.write("cuda-check.py", scriptText("tools/cuda-check.py"));
    const prelude = [
      `export PYTHONPATH=${sandbox.path("python")} CUDA_PLAN='${planText(plan)}'`,
      "declare -A FILES SECRETS=()",
      `FILES[cuda-check.py]=$(cat ${text})`,
    ].join("\n");
    return sandbox.step(
      ["step", "packages"],
      scriptText("container/cuda-check.sh"),
      [`count=${uuids.length}`, `uuids=${uuids.join(",")}`, "version=580.105.08"],
      prelude,
    );
  }

  it("reports the devices when all is well", () => {
    const result = step(`echo ${RIGHT}; echo ${LEFT}`, { cards: [LEFT, RIGHT] }, [LEFT, RIGHT]);
    expect(result.json).toMatchObject({ changed: false, driver: "580.105.08" });
    expect(result.json.devices).toHaveLength(2);
  });

  it.each([
    ["the uvm nodes are missing", { cuInit: 999 }, "CUDA error 999", "the nvidia-uvm nodes are missing"],
    [
      "the libraries are another driver's",
      { cuInit: 803 },
      "CUDA error 803",
      "must be the same (580.105.08)",
    ],
  ])("says what to do when %s", (_what, results, cause, next) => {
    const result = step(`echo ${LEFT}`, { cards: [LEFT], results }, [LEFT]);
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(cause);
    expect(result.stderr).toContain(next);
  });

  it("refuses a card that is not declared, although the number is right", () => {
    const result = step(`echo ${RIGHT}`, { cards: [RIGHT] }, [LEFT]);
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(`nvidia-smi lists ${RIGHT}; declared are 1 cards: ${LEFT}`);
    expect(result.stderr).toContain("compare devN of pct config");
  });

  it("repeats what nvidia-smi says of a version mismatch", () => {
    const result = step(
      "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
      { cards: [LEFT] },
      [LEFT],
    );
    expect(result.stderr).toContain("Driver/library version mismatch");
    expect(result.stderr).toContain("host and container have different drivers");
  });
});
