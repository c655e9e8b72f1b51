import { readFileSync, existsSync } from "node:fs";
import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

/**
 * The service's step with systemd and the gate stood in for: units are files with their state, what is asked of systemctl
 * is written down.
 */
let sandbox: Sandbox;

const SYSTEMCTL = (folder: string) => `
units=${folder}/units
last=\${!#}
case $1 in
  show)
    [[ $* == *ActiveState* ]] || exit 0
    cat "$units/$last/state" 2>/dev/null || echo inactive ;;
  reset-failed) sed -i 's/failed/inactive/' "$units/$last/state" 2>/dev/null || true ;;
  is-enabled) [[ -e $units/$last/enabled ]] ;;
  start | restart)
    echo "$1 $last" >>"${folder}/log"
    [[ ! -e $units/$last/broken ]] || exit 1
    mkdir -p "$units/$last"
    echo active >"$units/$last/state" ;;
  stop)
    echo "stop $last" >>"${folder}/log"
    # As after SGLang, which ends by a signal.
    if [[ $last == llm.service ]]; then echo failed; else echo inactive; fi >"$units/$last/state" ;;
  enable | disable)
    echo "$1 $last" >>"${folder}/log"
    mkdir -p "$units/$last"
    if [[ $1 == enable ]]; then touch "$units/$last/enabled"; else rm -f "$units/$last/enabled"; fi
    [[ $* != disable*--now* ]] || echo inactive >"$units/$last/state" ;;
esac`;

beforeEach(() => {
  sandbox = new Sandbox();
  sandbox.command("systemctl", SYSTEMCTL(sandbox.folder));
  sandbox.command("journalctl", "exit 0");
  sandbox.command("sleep", "exit 0");
  sandbox.write("environments/one/.complete", "");
  sandbox.write("units/llm.service/state", "active\n");
  sandbox.write("units/llm.service/enabled", "");
});
afterEach(() => {
  sandbox.remove();
});

const log = (): string[] =>
  existsSync(sandbox.path("log")) ? readFileSync(sandbox.path("log"), "utf8").trim().split("\n") : [];
const state = (unit: string) => readFileSync(sandbox.path("units", unit, "state"), "utf8").trim();
const isEnabled = (unit: string) => existsSync(sandbox.path("units", unit, "enabled"));

/** Runs the real step; only what needs a real machine (account, systemd-analyze, the gate itself) is stood in for. */
function run(healthy: boolean, ...more: string[]) {
  const script = `${scriptText("container/service.sh")}
record() { printf '%s' '${sandbox.path("record")}'; }
make_account() { mkdir -p "$(record)"; }
verify_unit() { :; }
secret_folder() { printf '%s' '${sandbox.path("secrets")}'; }
pass_gate() { GATE_REASONS="word salad"; ${String(healthy)}; }`;
  const prelude = `declare -A SECRETS=() FILES=([${sandbox.path("installed/sglang-qwen.service")}]=unit)`;
  const args = [
    "name=qwen",
    "unit=sglang-qwen.service",
    `environment=${sandbox.path("ml-env")}`,
    `target=${sandbox.path("environments/one")}`,
    "restart=r1",
    "gate=g1",
    "user=root",
    "enabled=true",
    "replaces=llm.service",
    ...more,
  ];
  const libraries = ["step", "files", "packages", "inference-service", "replaced-unit"];
  return sandbox.step(libraries, script, args, prelude);
}

describe("a hand-made unit that a service takes the place of", () => {
  it("is stopped before the service starts, and disabled after its gate", () => {
    const { status, stderr } = run(true);
    expect(stderr).toContain("stopping llm.service: sglang-qwen.service takes its place");
    expect(state("llm.service")).toBe("inactive");
    expect(status).toBe(0);
    expect(log()).toEqual([
      "stop llm.service",
      "restart sglang-qwen.service",
      "enable sglang-qwen.service",
      "disable llm.service",
    ]);
    expect(existsSync(sandbox.path("record/replaced"))).toBe(false);
  });

  it("serves again, and is still enabled, when the service fails its first gate", () => {
    const { status, stderr } = run(false);
    expect(status).toBe(1);
    expect(stderr).toContain("does not pass its health gate: word salad");
    expect(stderr).toContain("next:  llm.service was started again; correct the stack");
    expect(log().slice(-2)).toEqual(["stop sglang-qwen.service", "start llm.service"]);
    expect(state("sglang-qwen.service")).toBe("inactive");
    expect(state("llm.service")).toBe("active");
    expect(isEnabled("llm.service")).toBe(true);
  });

  it("serves again when the service does not even start", () => {
    sandbox.write("units/sglang-qwen.service/broken", "");
    const { stderr } = run(true);
    expect(stderr).toContain("sglang-qwen.service does not start");
    expect(state("llm.service")).toBe("active");
    expect(isEnabled("llm.service")).toBe(true);
  });

  it("serves again after a step that was cut off before the gate, when the next one fails", () => {
    sandbox.write("units/llm.service/state", "inactive\n");
    sandbox.write("record/replaced", "llm.service");
    expect(run(false).stderr).toContain("llm.service was started again");
    expect(state("llm.service")).toBe("active");
  });

  it("is not started when it did not run before", () => {
    sandbox.write("units/llm.service/state", "inactive\n");
    expect(run(false).stderr).toContain("the service is stopped, nothing restarts behind your back");
    expect(log()).not.toContain("start llm.service");
  });

  it("is not touched by a second apply, nor by a service that is not enabled", () => {
    run(true);
    const before = log();
    expect(run(true).json).toMatchObject({ changed: false });
    expect(log()).toEqual(before);
    sandbox.write("units/llm.service/state", "active\n");
    expect(run(true, "enabled=false").status).toBe(0);
    expect(log().filter((line) => line.includes("llm"))).toEqual(["stop llm.service", "disable llm.service"]);
  });

  it("counts as a difference when somebody starts or enables it again", () => {
    run(true);
    sandbox.write("units/llm.service/state", "active\n");
    sandbox.write("units/llm.service/enabled", "");
    expect(run(true, "mode=check").json["differences"]).toEqual([
      "llm.service is enabled, sglang-qwen.service takes its place",
      "llm.service runs, sglang-qwen.service takes its place",
    ]);
  });
});
