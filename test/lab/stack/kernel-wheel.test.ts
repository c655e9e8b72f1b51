import { join } from "node:path";

import { servicePaths } from "../../../plan/unit/paths";
import { replace, useKernelWheel, Variants } from "./kernel-wheel";
import { usePreparedLab } from "./deployed-lab";
import { ask } from "./lab-stack";

const WHEELS = "/var/cache/proxmox-gpu-stack/wheels";
const UNIT = "proxmox-gpu-stack-wheel-lab-kernel";

const stack = usePreparedLab();
const variants = new Variants();

// Each case that compiles takes minutes on a busy machine.
jest.setTimeout(1_200_000);

beforeAll(() => {
  useKernelWheel(stack);
});
afterAll(() => {
  variants.remove();
});

/** Points the environment at a lock. */
function choose(lock: string): void {
  stack.edit((file) => {
    Object.assign(file.environments?.["ml-env"] as object, { lock, toolkit: "cuda-13" });
  });
}

/** An `up` that must fail, and what it said. */
function failedUp(): string {
  const result = stack.pulumi("up", "--yes", "--skip-preview");
  expect(result.status).not.toBe(0);
  return result.output;
}

/** What the unit that compiles prints. */
const LOG = "/var/lib/proxmox-gpu-stack/work/wheel-lab-kernel.log";

/** Starts an `up` that compiles and resolves with its exit status; the log of an earlier build is gone. */
function startUp(): Promise<number | null> {
  stack.inContainer(`rm -f ${LOG}`);
  return stack.startUp();
}

const inUse = () => stack.inContainer("readlink /opt/ml-env");
const installed = () =>
  stack.inContainer(
    `/opt/ml-env/bin/python3 -c 'import importlib.metadata as m, lab_kernel; print(m.version("lab-kernel"), lab_kernel.common_ops.kernels)'`,
  );

const expectAnswer = async () => {
  expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

/** A variant whose build has something to do although the sources are the same: no object of an earlier one is taken. */
const slow = (folder: string) => {
  replace(join(folder, "wheels.toml"), "[wheel.environment]", `[wheel.environment]\nCCACHE_RECACHE = "1"`);
};

describe("an environment with a wheel from source", () => {
  it("gets it compiled with the pinned toolkit, patched, checked and installed", async () => {
    choose("kernel-wheel-lab");
    const { output } = stack.deploy();
    expect(output).toMatch(/\[8\/8\] objects/);
    expect(installed()).toMatch(/^0\.1\.0\+pgs\.[0-9a-f]{12} 5$/);
    await expectAnswer();
  });

  it("keeps it with a manifest of what it was made from", () => {
    const manifest = JSON.parse(stack.inContainer(`sh -c 'cat ${WHEELS}/*/manifest.json'`)) as object;
    expect(manifest).toMatchObject({
      inputs: { torch: "2.9.1+lab", cuda: "13.0.2", architectures: ["sm_80", "sm_120a"] },
    });
  });

  it("finds the compiler in CUDA_HOME and PATH of its services; /usr/local/cuda is not touched", () => {
    const environment = stack.inContainer(`cat ${servicePaths("qwen").environmentFile}`);
    expect(environment).toMatch(/^CUDA_HOME="?\/opt\/proxmox-gpu-stack\/toolkits\/cuda-13\.0\.2"?$/m);
    expect(environment).toMatch(/^PATH=.*\/toolkits\/cuda-13\.0\.2\/bin/m);
    expect(
      stack.inContainer(
        "sh -c 'ls -d /usr/local/cuda* /opt/proxmox-gpu-stack/toolkits/cuda-13.0.2/nsight* 2>/dev/null; true'",
      ),
    ).toBe("");
  });

  it("is not built again: the next up changes nothing", () => {
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("leaves it in the wheelhouse, from which another container takes it without a compiler", () => {
    stack.edit((file) => {
      const { ml } = file.containers as Record<string, Record<string, unknown>>;
      file.containers = {
        ml,
        second: {
          ...ml,
          vmId: 130,
          gpus: [],
          mounts: [],
          network: { ...(ml?.network as object), address: `${stack.subnet}.130/24` },
        },
      };
      const environments = file.environments as Record<string, Record<string, unknown>>;
      environments["second-env"] = { ...environments["ml-env"], container: "second" };
    });
    const { output } = stack.deploy();
    expect(output).toContain("comes from the wheelhouse: nothing is built");
    expect(output).not.toContain("objects");
    expect(
      stack.onHost(
        "pct exec 130 -- /opt/ml-env/bin/python3 -c 'import lab_kernel; print(lab_kernel.__version__)'",
      ),
    ).toBe("0.1.0");
    expect(stack.tryOnHost("pct exec 130 -- which g++").status).not.toBe(0);
  });
});

describe("altering one patch", () => {
  it("gives the wheel and the environment another identity, and previews as that", () => {
    const altered = variants.make((folder) => {
      replace(
        join(folder, "patches/lab-kernel/01-import-without-fa3.patch"),
        "# Built without",
        "# Compiled without",
      );
    });
    choose(altered);
    expect(stack.previewedSteps()).toEqual([
      "update ml-env-lab-kernel-wheel",
      "update ml-env-lab-kernel-share",
      "update ml-env-environment",
      "update qwen-service",
      // No other container has the same environment any more.
      "delete ml-env-share",
    ]);
    expect(stack.pulumi("preview", "--diff").output).toMatch(/01-import-without-fa3\.patch:[0-9a-f]{12}/);
    choose("kernel-wheel-lab");
  });
});

describe("a wheel that cannot be had leaves the environment in use serving, and says why:", () => {
  it("a patch that does not apply, with its file and hunk", async () => {
    const before = inUse();
    choose(
      variants.make((folder) => {
        replace(
          join(folder, "patches/lab-kernel/02-fa3-as-asked.patch"),
          "-    set(LAB_KERNEL_ENABLE_FA3 ON)",
          "-    set(OTHER ON)",
        );
      }),
    );
    expect(failedUp()).toMatch(
      /patch lab-kernel\/02-fa3-as-asked\.patch does not apply to CMakeLists\.txt hunk 1 \(line 36\)[^]*make check-patches/,
    );
    expect(inUse()).toBe(before);
    await expectAnswer();
  });

  it("an architecture that the binary lacks", async () => {
    const before = inUse();
    choose(
      variants.make((folder) => {
        replace(join(folder, "wheels.toml"), '"sm_120a"]', '"sm_120a", "sm_103a"]');
      }),
    );
    expect(failedUp()).toMatch(/no code for sm_103a: the files hold sm_80 sm_90a sm_120a/);
    expect(inUse()).toBe(before);
    await expectAnswer();
  });

  it("an import that fails", () => {
    choose(
      variants.make((folder) => {
        replace(
          join(folder, "wheels.toml"),
          'imports = ["lab_kernel"]',
          'imports = ["lab_kernel.flash_ops"]',
        );
      }),
    );
    expect(failedUp()).toMatch(
      /does not import with torch 2\.9\.1\+lab: ModuleNotFoundError: No module named 'lab_kernel.flash_ops'/,
    );
  });

  it("a wheel in the wheelhouse that was built for another torch", async () => {
    const before = inUse();
    const name = variants.make((folder) => {
      replace(join(folder, "wheels.toml"), "[wheel.cmake]", '[wheel.cmake]\nFOR_ANOTHER_TORCH = "1"');
    });
    choose(name);
    const digest = /digest=([0-9a-f]{12})/.exec(
      stack.pulumi("preview", "--diff").output.replace(/[^]*ml-env-lab-kernel-wheel /, ""),
    )?.[1];
    stack.onHost(
      `cd /srv/wheelhouse/built && cp -r "$(ls | head -n 1)" ${digest} && sed -i 's/"torch": "[^"]*"/"torch": "2.10.0+lab"/; s/"digest": "[^"]*"/"digest": "${digest}"/' ${digest}/manifest.json`,
    );
    const output = failedUp();
    expect(output).toMatch(/was built for torch 2\.10\.0\+lab, this environment has torch 2\.9\.1\+lab/);
    expect(output).toContain(`wheelhouse.path/built/${digest}`);
    expect(inUse()).toBe(before);
    await expectAnswer();
    stack.onHost(`rm -r /srv/wheelhouse/built/${digest}`);
  });
});

describe("a build that is cut off", () => {
  it("goes on without its connection, and the next up joins it", async () => {
    choose(variants.make(slow));
    const first = startUp();
    const unit = `pct exec 129 -- systemctl show -P InvocationID ${UNIT}`;
    await stack.until(`pct exec 129 -- cat ${LOG}`, /\[1\/8\] objects/, 900);
    const invocation = stack.onHost(unit);
    stack.tryOnHost(
      "systemd-run --quiet --on-active=3 systemctl start ssh; systemctl stop ssh; pkill -9 -x sshd",
    );
    expect(await first).not.toBe(0);
    await stack.until("echo back", /back/, 900);
    const still = stack.tryOnHost(unit).output.trim();
    if (still !== "") expect(still).toBe(invocation);
    stack.deploy();
    const log = stack.inContainer(`cat ${LOG}`);
    expect(log.match(/compiling lab-kernel/g)).toHaveLength(1);
    expect(installed()).toContain("+pgs.");
    await expectAnswer();
  });

  it("by a reboot of the host keeps what was compiled, and the next up goes on there", async () => {
    choose(
      variants.make((folder) => {
        slow(folder);
        replace(join(folder, "wheels.toml"), "[wheel.cmake]", '[wheel.cmake]\nANOTHER = "1"');
      }),
    );
    const first = startUp();
    await stack.until(`pct exec 129 -- cat ${LOG}`, /\[1\/8\] objects/, 900);
    stack.lab("reboot", "pve1");
    expect(await first).not.toBe(0);
    const { output } = stack.deploy();
    // What is left of eight: configuration and finished objects are not repeated.
    expect(output).toMatch(/\[\d\/[1-7]\] objects/);
    expect(output).not.toMatch(/\/8\] objects/);
    await expectAnswer();
  });
});

describe("a toolkit that the configuration no longer names", () => {
  it("is removed, and not before", () => {
    stack.edit((file) => {
      const environments = file.environments as Record<string, Record<string, unknown>>;
      for (const environment of Object.values(environments)) {
        environment.lock = "lab-sglang-0.5.11";
        delete environment.toolkit;
      }
    });
    expect(stack.inContainer("ls /opt/proxmox-gpu-stack/toolkits")).toBe("cuda-13.0.2");
    stack.deploy();
    expect(stack.inContainer("sh -c 'ls -A /opt/proxmox-gpu-stack/toolkits'")).toBe("");
  });
});
