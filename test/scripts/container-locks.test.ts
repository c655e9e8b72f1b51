import { existsSync, readFileSync } from "node:fs";

import { Sandbox } from "./bash";

let host: Sandbox;

beforeEach(() => {
  host = new Sandbox();
});
afterEach(() => {
  host.remove();
});

/** Proxmox VE's answers to `pct`, one after the other; the last one stays. */
function pctAnswers(...answers: readonly { readonly says: string; readonly status: number }[]): void {
  answers.forEach(({ says, status }, index) => host.write(`answers/${index}`, `${status}\n${says}\n`));
  host.command(
    "pct",
    `cd ${host.folder}
echo "$*" >>log
answer=answers/$(($(wc -l <log) - 1))
[[ -e $answer ]] || answer=answers/${answers.length - 1}
tail -n +2 "$answer" >&2
exit "$(head -n 1 "$answer")"`,
  );
}

/** A step that does one thing with a container, and waits at most so many seconds for its lock. */
function step(apply: string, patience = 60) {
  const script = `CONTAINER_FILES=${host.folder} LOCK_PATIENCE=${patience} LOCK_LOOK_EVERY=0.1
step_check() { [[ -e ${host.path("done")} ]] || differs "not done"; }
step_apply() { ${apply}; touch ${host.path("done")}; }`;
  return host.step(["step", "container-locks"], script);
}

const START = 'when_unlocked 129 pct start 129 || fail "it does not start"';
const log = () => (existsSync(host.path("log")) ? readFileSync(host.path("log"), "utf8") : "");
const done = { says: "", status: 0 };

it.each([
  ["by an operation", "CT is locked (snapshot-delete)"],
  ["by a change of the configuration", "can't lock file '/run/lock/lxc/pve-config-129.lock' - got timeout"],
])("a command that is refused because the container is held %s is tried until it is not", (_who, says) => {
  pctAnswers({ says, status: 255 }, { says, status: 255 }, done);
  const { status, stderr } = step(START);
  expect(status).toBe(0);
  expect(log()).toBe("start 129\n".repeat(3));
  expect(stderr).toContain("container 129 is held by another task: trying again");
  expect(stderr).not.toContain(says);
});

it("any other refusal is told at once, in Proxmox VE's words", () => {
  pctAnswers({ says: "startup for container '129' failed", status: 1 });
  const { status, stderr } = step(START);
  expect(status).toBe(1);
  expect(log()).toBe("start 129\n");
  expect(stderr).toContain("startup for container '129' failed\n");
  expect(stderr).toContain("cause: it does not start");
});

it("words about a lock in what succeeded are no reason to do it twice", () => {
  pctAnswers({ says: "CT is locked (backup)", status: 0 });
  expect(step(START).status).toBe(0);
  expect(log()).toBe("start 129\n");
});

it("a container is not touched as long as its configuration says that a task holds it", () => {
  pctAnswers(done);
  host.write("129.conf", "cores: 2\nlock: backup\n");
  const unlock = `(sleep 0.5; [[ ! -e ${host.path("log")} ]] && sed -i /^lock/d ${host.path("129.conf")}) &`;
  const { status, stderr } = step(`${unlock} ${START}`);
  expect(status).toBe(0);
  expect(stderr).toContain("container 129 is held by another task (backup): waiting for its end");
  expect(log()).toBe("start 129\n");
});

it("the lock of a snapshot in the configuration is not the container's", () => {
  pctAnswers(done);
  host.write("129.conf", "cores: 2\n\n[before]\nlock: snapshot\n");
  expect(step("wait_until_unlocked 129", 0).status).toBe(0);
});

it("nobody waits for ever: the container, the lock and the way on are told", () => {
  pctAnswers(done);
  host.write("129.conf", "lock: mounted\n");
  const { status, stderr } = step(START, 0);
  expect(status).toBe(1);
  expect(stderr).toContain("container 129 is still held by another task after 0 minutes: mounted");
  expect(stderr).toContain("pct unlock 129");
  expect(log()).toBe("");
});
