import { existsSync, readFileSync } from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

const CARD = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** What systemd says of each unit, and the verbs that it was asked to do, in `calls`. */
function systemd(states: Readonly<Record<string, string>>, conflicts = ""): void {
  const cases = Object.entries(states).map(([unit, state]) => `*ActiveState*${unit}) echo ${state} ;;`);
  sandbox.command(
    "systemctl",
    `case "$*" in
  show*Conflicts*) echo '${conflicts}' ;;
  ${cases.join("\n  ")}
  show*) echo ;;
  *) echo "$*" >> ${sandbox.path("calls")} ;;
esac`,
  );
}

const calls = () => (existsSync(sandbox.path("calls")) ? readFileSync(sandbox.path("calls"), "utf8") : "");

interface Circumstances {
  /** State that the probe reports. */
  readonly probe?: string;
  /** Lines of nvidia-smi: UUID, address, free MiB. */
  readonly memory?: string;
  readonly cards?: string;
  readonly mode?: string;
  /** Files that are not as they were at the last gate. */
  readonly changed?: string;
}

/**
 * The step ends what is left of its unit wherever this machine's /proc shows it, the containers of a lab included: its unit
 * has a name that no service has.
 *
 * Runs the step on a machine without cards of its own: they are told, and the records lie in the sandbox.
 */
function recover({
  probe = "degenerate",
  memory = "",
  cards = CARD,
  mode = "apply",
  changed = "",
}: Circumstances) {
  sandbox.command("nvidia-smi", `printf '%s\\n' '${memory}'`);
  const script = `${scriptText("container/recover.sh")}
RELEASE_SECONDS=1
find_nodes() { NODES=(/dev/nvidia-of-nobody); }
record() { printf '%s' '${sandbox.path("record")}'; }
probe_state() { printf '%s' '${probe}'; }
changed_files() { printf '${changed}'; }
`;
  const args = [
    "name=qwen",
    "unit=sglang-of-nobody.service",
    "python=/bin/false",
    `environment=${sandbox.path("environment")}`,
    `spec=${sandbox.path("specification.json")}`,
    `cards=${cards}`,
    "freeMiB=35988",
    `metrics=${sandbox.path("qwen.prom")}`,
    `mode=${mode}`,
  ];
  return sandbox.step(["step", "files", "inference-service"], script, args);
}

const passedItsGate = () => sandbox.write("record/good-files/keep", "");

describe("recovery of a service", () => {
  it("that never passed its gate is refused: up is what installs it", () => {
    systemd({ "sglang-of-nobody.service": "failed" });
    const { status, stderr } = recover({});
    expect(status).toBe(1);
    expect(stderr).toContain("sglang-of-nobody.service has never passed its health gate here");
    expect(calls()).toBe("");
  });

  it("that is healthy touches nothing", () => {
    passedItsGate();
    systemd({ "sglang-of-nobody.service": "active" });
    const { status, json } = recover({ probe: "healthy" });
    expect({ status, ...json }).toMatchObject({ status: 0, changed: false, state: "healthy", holders: [] });
    expect(calls()).toBe("");
  });

  it("only looks in mode check, and says what is wrong", () => {
    passedItsGate();
    systemd({ "sglang-of-nobody.service": "active" });
    const { json } = recover({ mode: "check", changed: "/etc/a.service\\n" });
    expect(json["differences"]).toEqual([
      "/etc/a.service is not as it was when the service passed its gate",
      "the probe says that sglang-of-nobody.service is degenerate",
    ]);
    expect(calls()).toBe("");
  });

  it("is refused while a service runs that may not run beside it, before anything is stopped", () => {
    passedItsGate();
    systemd(
      { "sglang-of-nobody.service": "failed", "sglang-kimi.service": "active" },
      "shutdown.target sglang-kimi.service",
    );
    const { status, stderr } = recover({});
    expect(status).toBe(1);
    expect(stderr).toContain("sglang-kimi.service runs and may not run beside sglang-of-nobody.service");
    expect(calls()).toBe("");
  });

  it.each([
    ["UUID", CARD],
    ["address", "0000:41:00.0"],
  ])("stops the unit and names a card, told by %s, whose memory somebody unseen has", (_how, cards) => {
    passedItsGate();
    systemd({ "sglang-of-nobody.service": "failed" });
    const memory = `${CARD}, 00000000:41:00.0, 100\nGPU-of-others, 00000000:42:00.0, 5`;
    const { status, stderr } = recover({ memory, cards });
    expect(status).toBe(1);
    expect(stderr).toContain(
      `the cards are not free after 1 seconds: card ${cards} has 100 MiB free, 35988 are needed\n`,
    );
    expect(calls()).toBe("stop sglang-of-nobody.service\n");
  });
});
