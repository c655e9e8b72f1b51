import { shellWord } from "../../../plan/script";
import { usePreparedLab } from "./deployed-lab";
import { smallContainers } from "./many-containers";

const SIZE = 6;
const stack = usePreparedLab();

/** What Proxmox VE says of a lock, and what any failure says. */
const TOLD_OF_LOCK = /CT is locked|can't lock file|got timeout|error:/;

/** Runs something on the host while the stack does its work. */
function meanwhile(unit: string, script: string): void {
  // systemd would take $ for its own variables.
  stack.onHost(`systemd-run --quiet --unit=${unit} bash -c ${shellWord(script.replaceAll("$", "$$$$"))}`);
}

/** Shell: returns when the API has made a container and before anything else is done with it. */
const made = (id: number) =>
  `until grep -qs ^rootfs: /etc/pve/lxc/${id}.conf && ! grep -q ^lock: /etc/pve/lxc/${id}.conf; do sleep 0.02; done`;

/** A pattern for pgrep that does not find the script it stands in. */
const others = (command: string) => `'[${command.slice(0, 1)}]${command.slice(1)}'`;

/** Shell: returns when a step has begun. */
const begun = (step: string) => `until pgrep -f ${others(`bash -s -- ${step} `)}; do sleep 0.02; done`;

/** Shell: another task (a backup, …) holds a container for some seconds more than `meanwhile`, as Proxmox VE notes it. */
const heldBy = (task: string, id: number, meanwhile = "true") =>
  `echo 'lock: ${task}' >>/etc/pve/lxc/${id}.conf; ${meanwhile}; sleep 6; sed -i '/^lock: /d' /etc/pve/lxc/${id}.conf`;

/** Shell: somebody changes a container until Proxmox VE itself has given up waiting for that. */
const changedBeside = (id: number) => {
  const set = `pgrep -f ${others(`pct set ${id} `)}`;
  return `flock /run/lock/lxc/pve-config-${id}.lock bash -c ${shellWord(`until ${set}; do sleep 0.05; done; while ${set}; do sleep 0.05; done`)}`;
};

/**
 * Shell: another task holds a container from the start of its attach step on, which waits for an earlier run of itself until then.
 */
const heldAtAttach = (task: string, name: string, id: number) => {
  const atWork = "/run/proxmox-gpu-stack/steps";
  const earlier = `sleep infinity & mkdir -p ${atWork}; echo $! $(cut -d' ' -f22 /proc/$!/stat) >${atWork}/${name}-attach`;
  return `${earlier}; ${begun(`${name}-attach`)}; ${heldBy(task, id, "kill $!")}`;
};

/** How often an `up` logs in to the host. */
function logins(up: () => void): number {
  const before = stack.traffic().logins;
  up();
  // The second look is a log-in too.
  return stack.traffic().logins - before - 1;
}

describe("a stack of many containers on a host that others use too", () => {
  let output = "";
  let counted = 0;

  beforeAll(() => {
    stack.edit((file) => {
      delete file.services;
      file.containers = { ...file.containers, ...smallContainers(file, SIZE) };
    });
    const refusal = {
      method: "POST",
      path: "/lxc$",
      status: 500,
      message: "can't lock file '/run/lock/lxc/pve-config-1001.lock' - got timeout",
      times: 2,
    };
    stack.onHost(`printf %s ${shellWord(JSON.stringify([refusal]))} >/etc/lab/api-faults.json`);
    meanwhile("backup", heldAtAttach("backup", "ml-1", 1001));
    // Waited for by the provider: it has made the container and looks at it.
    meanwhile("snapshot", `${made(1002)}; ${heldBy("snapshot", 1002)}`);
    meanwhile("change", `${made(1003)}; ${changedBeside(1003)}`);
    // What was started above logged in as well: not between the two looks.
    counted = logins(() => {
      ({ output } = stack.deploy("--parallel", "16"));
    });
  });

  it("comes up in one go: every container runs", () => {
    const running = stack.onHost("pct list").match(/^10\d\d +running/gm);
    expect(running).toHaveLength(SIZE);
  });

  it("waits for whoever holds a container, and no lock reaches the owner as an error", () => {
    expect(output).not.toMatch(TOLD_OF_LOCK);
    expect(output).toContain("container 1001 is held by another task (backup): waiting for its end");
    expect(stack.onHost("systemctl is-active backup snapshot change || true")).not.toMatch(/^active$/m);
    expect(output).toContain("container 1003 is held by another task: trying again");
    expect(stack.onHost("cat /etc/lab/api-faults.json")).toContain('"times": 0');
  });

  it("logs in once for each step that runs: claim and attach of each container, whatever was waited for", () => {
    expect(counted).toBe(2 * SIZE);
  });

  it("has nothing to do afterwards, and logs in to no machine for it", () => {
    expect(logins(() => stack.deploy("--expect-no-changes"))).toBe(0);
  });

  it("waits before the API changes a container that somebody holds: the provider would ask only once", () => {
    stack.edit((file) => {
      Object.assign(file.containers?.["ml-4"] as object, { memoryGiB: 2, description: "larger" });
    });
    meanwhile("another-backup", heldBy("backup", 1004, begun("ml-4-claim")));
    const changed = stack.deploy();
    expect(changed.output).not.toMatch(TOLD_OF_LOCK);
    expect(changed.output).toContain("container 1004 is held by another task (backup): waiting for its end");
    expect(stack.onHost("pct config 1004")).toMatch(/^memory: 2048$/m);
    stack.deploy("--expect-no-changes");
  });
});
