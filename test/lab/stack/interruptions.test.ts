import { ask, useLab } from "./lab-stack";

const SUBNET = "10.82.0";
const stack = useLab(SUBNET);

/** Waits until a command on the host prints something that matches. */
async function until(command: string, pattern: RegExp): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (pattern.test(stack.tryOnHost(command).output)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${command} never showed ${String(pattern)}`);
}

/** Starts an `up` and resolves with its exit status. */
function startUp(): Promise<number | null> {
  const child = stack.startPulumi("up", "--yes", "--skip-preview");
  return new Promise((resolve) => child.on("exit", resolve));
}

describe("an up that is cut off", () => {
  it("by a reboot in the middle of the driver's build fails, and the next one finishes the driver", async () => {
    const first = startUp();
    await until("systemctl show -P ActiveState proxmox-gpu-stack-driver", /^active/);
    stack.lab("reboot", "pve1");
    expect(await first).not.toBe(0);
    const second = startUp();
    await until("nvidia-smi -L", /GPU-3c1f7a52/);
    // The second one goes on with the container; it is cut off below.
    await until(
      "pct exec 129 -- systemctl show -P ActiveState proxmox-gpu-stack-environment-ml-env",
      /^active/,
    );
    const work = "pct exec 129 -- systemctl show -P InvocationID proxmox-gpu-stack-environment-ml-env";
    const invocation = stack.onHost(work);
    // sshd and every session of it die; the lab's own shell needs it back, so a timer brings it.
    stack.tryOnHost(
      "systemd-run --quiet --on-active=3 systemctl start ssh; systemctl stop ssh; pkill -9 -x sshd",
    );
    expect(await second).not.toBe(0);
    await until("echo back", /back/);
    const still = stack.tryOnHost(work).output.trim();
    // Unless it ended meanwhile, the same work goes on without a connection.
    if (still !== "") expect(still).toBe(invocation);
    stack.deploy();
    expect(await ask(`http://${SUBNET}.129:30000`, "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
  });

  it("leaves no second build behind: one log, one complete environment", () => {
    expect(
      stack.inContainer("sh -c 'ls -d /opt/proxmox-gpu-stack/environments/ml-env/*/.complete | wc -l'"),
    ).toBe("1");
    const log = stack.inContainer("cat /var/lib/proxmox-gpu-stack/work/environment-ml-env.log");
    expect(log.match(/environment is complete/g)).toHaveLength(1);
  });
});
