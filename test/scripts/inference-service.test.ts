import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

const LIBRARIES = ["step", "files", "inference-service"];

describe("two services that share an environment", () => {
  it("may point it to the same place at the same time", () => {
    const target = sandbox.path("environments/one");
    sandbox.write("environments/one/.complete", "");
    const script = `
step_check() { true; }
often() {
  ARGS[name]=$1
  for _ in {1..40}; do
    point_environment '${target}' || return 1
  done
}
step_facts() {
  often qwen &
  local first=$!
  often second
  wait "$first" || fail "the other one failed"
  fact link "$(readlink '${sandbox.path("ml-env")}')"
}`;
    const { status, stderr, json } = sandbox.step(LIBRARIES, script, [
      "mode=check",
      `environment=${sandbox.path("ml-env")}`,
    ]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(json["link"]).toBe(target);
  });
});

describe("a service that does not start", () => {
  const problem = (journal: string) => {
    sandbox.command("journalctl", `printf '%s\\n' "${journal}"`);
    const script = `step_check() { true; }\nstep_facts() { fact problem "$(start_problem)"; }`;
    return sandbox.step(LIBRARIES, script, ["mode=check", "unit=sglang-qwen.service"]).json["problem"];
  };

  it("is told with all that the preflight found", () => {
    expect(problem("Starting\npreflight: port 30000 is taken\npreflight: the model is missing\nFailed")).toBe(
      "sglang-qwen.service does not start: port 30000 is taken;the model is missing",
    );
  });

  it("is told without a reason when the preflight has none", () => {
    expect(problem("Failed to start")).toBe("sglang-qwen.service does not start");
  });
});

describe("the journal of a service that failed", () => {
  it("is shown by its last lines, long ones cut", () => {
    // As the real one: with --since, --lines counts from the first line on.
    sandbox.command(
      "journalctl",
      `count=45
for word; do case $word in --lines=*) count=\${word#*=} ;; esac; done
seq -f 'line %g' 44 | { cat; head -c 5000 /dev/zero | tr '\\0' x; echo; } | head -n "$count"`,
    );
    const script = `step_check() { true; }\nstep_facts() { show_journal; }`;
    const { stderr } = sandbox.step(LIBRARIES, script, ["mode=check", "unit=sglang-qwen.service"]);
    const shown = stderr.split("\n").filter((line) => /^(line|x)/.test(line));
    expect(shown).toHaveLength(20);
    expect(shown[0]).toBe("line 26");
    expect(shown[19]).toBe("x".repeat(400));
  });
});
