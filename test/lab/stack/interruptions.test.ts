import { ask, useLab } from "./lab-stack";

const stack = useLab();

describe("an up that is cut off", () => {
  it("by a reboot in the middle of the driver's build fails, and the next one finishes the driver", async () => {
    const first = stack.startUp();
    await stack.until("systemctl show -P ActiveState proxmox-gpu-stack-driver", /^active/);
    stack.lab("reboot", "pve1");
    expect(await first).not.toBe(0);
    const second = stack.startUp();
    await stack.until("nvidia-smi -L", /GPU-3c1f7a52/);
    // The second one goes on with the container; it is cut off below.
    await stack.until(
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
    await stack.until("echo back", /back/);
    const still = stack.tryOnHost(work).output.trim();
    // Unless it ended meanwhile, the same work goes on without a connection.
    if (still !== "") expect(still).toBe(invocation);
    stack.deploy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
  });

  it("leaves no second build behind: one log, one complete environment", () => {
    expect(
      stack.inContainer("sh -c 'ls -d /opt/proxmox-gpu-stack/environments/ml-env/*/.complete | wc -l'"),
    ).toBe("1");
    const log = stack.inContainer("cat /var/lib/proxmox-gpu-stack/work/environment-ml-env.log");
    expect(log.match(/environment is complete/g)).toHaveLength(1);
  });
});
