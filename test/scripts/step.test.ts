import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";

import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** A step that keeps one file. */
const keeper = (path: string) => `
step_check() { check_text ${path} "wanted
"; }
step_apply() { say "writing"; put_text ${path} 640 "wanted
"; }
step_facts() { fact path ${path}; fact count 3; fact odd $'a "quoted"\\ttext'; }
step_remove() { rm -f ${path}; say "taken away"; }
`;

describe("the frame of a step", () => {
  it("applies what differs, and changes nothing the second time", () => {
    const file = sandbox.path("kept");
    const first = sandbox.step(["step", "files"], keeper(file));
    expect(first.json).toEqual({ changed: true, path: file, count: 3, odd: 'a "quoted"\ttext' });
    expect(readFileSync(file, "utf8")).toBe("wanted\n");
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const written = statSync(file).mtimeMs;
    const second = sandbox.step(["step", "files"], keeper(file));
    expect(second.json.changed).toBe(false);
    expect(second.stderr).toBe("");
    expect(statSync(file).mtimeMs).toBe(written);
  });

  it("says in mode check what differs, and leaves it as it is", () => {
    const file = sandbox.write("kept", "edited by hand\n");
    const result = sandbox.step(["step", "files"], keeper(file), ["mode=check"]);
    expect(result.json.differences).toEqual([`${file} differs from what is declared`]);
    expect(result.json.changed).toBe(false);
    expect(readFileSync(file, "utf8")).toBe("edited by hand\n");
  });

  it("takes away what it made in mode remove", () => {
    const file = sandbox.write("kept", "wanted\n");
    const result = sandbox.step(["step", "files"], keeper(file), ["mode=remove"]);
    expect(result.status).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it("fails when applying did not bring what is declared", () => {
    const result = sandbox.step(
      ["step"],
      "step_check() { differs 'the moon is missing'; }\nstep_apply() { :; }",
    );
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("error: step test-step on ");
    expect(result.stderr).toContain("still not as declared after applying: the moon is missing");
    expect(result.stdout).toBe("");
  });

  it("does not look again when a reboot must come first", () => {
    const result = sandbox.step(
      ["step"],
      "step_check() { differs 'nouveau is loaded'; }\nstep_apply() { reboot_requested 1234; }",
    );
    expect(result.json).toEqual({ changed: true, rebootRequested: "1234" });
  });

  it("names the command that ended it when nobody answered for it", () => {
    const result = sandbox.step(
      ["step"],
      "step_check() { differs x; }\nstep_apply() { grep --quiet y /dev/null; say never; }",
    );
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("cause: grep --quiet y /dev/null ended with 1");
    expect(result.stderr).not.toContain("never");
  });

  it.each([
    [["mode=explode"], "unknown mode 'explode'"],
    [["no-equals-sign"], "argument 'no-equals-sign' is not of the form name=value"],
  ])("refuses %j", (args, message) => {
    const result = sandbox.step(["step"], "step_check() { :; }\nstep_apply() { :; }", args);
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(message);
  });

  it("keeps values with spaces, quotes and dollars as they are", () => {
    const result = sandbox.step(
      ["step"],
      `step_check() { :; }\nstep_apply() { :; }\nstep_facts() { fact value "$(argument value)"; }`,
      [`value=a 'b' "c" $d \\ é`],
    );
    expect(result.json.value).toBe(`a 'b' "c" $d \\ é`);
  });

  it("gives nothing of its own input to what it starts", () => {
    const result = sandbox.step(
      ["step"],
      "step_check() { cat; }\nstep_apply() { :; }\nstep_facts() { fact end reached; }",
    );
    expect(result.json).toEqual({ changed: false, end: "reached" });
  });

  it("goes on to its end when nobody listens any more, as after a lost connection", () => {
    const file = sandbox.path("kept");
    // What the step talks to ends with the first line of its work.
    const result = sandbox.step(
      ["step", "files"],
      `${keeper(file)}
step_apply() { say one; sleep 0.2; say two; echo three; sleep 0.2; say four; put_text ${file} 640 "wanted
"; }
exec > >(head -n 1 >/dev/null) 2> >(head -n 3 >/dev/null)`,
    );
    expect(result.status).toBe(0);
    expect(readFileSync(file, "utf8")).toBe("wanted\n");
  });

  it("waits for an earlier run of it that is still at work, and finds what that one made", () => {
    const file = sandbox.path("kept");
    const result = sandbox.step(
      ["step", "files"],
      `${keeper(file)}
mkdir -p "$AT_WORK"
{ sleep 0.7; printf 'wanted\\n' >${file}; } &
printf '%s %s\\n' "$!" "$(started "$!")" >"$AT_WORK/test-step"`,
    );
    expect(result.stderr).toMatch(/an earlier run of test-step is still at work on .*waiting for its end/);
    expect(result.json.changed).toBe(false);
  });

  it("does not wait for a process that has the number of an earlier run which is gone", () => {
    const file = sandbox.path("kept");
    const result = sandbox.step(
      ["step", "files"],
      `${keeper(file)}\nmkdir -p "$AT_WORK"\nprintf '%s 1\\n' "$$" >"$AT_WORK/test-step"`,
    );
    expect(result.stderr).not.toContain("earlier run");
    expect(result.json.changed).toBe(true);
  });

  it("leaves nothing beside a file that cannot be written, and names it", () => {
    sandbox.command("chmod", "echo 'no room' >&2; exit 1");
    const file = sandbox.path("kept");
    const result = sandbox.step(["step", "files"], keeper(file));
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(`cause: ${file} could not be written`);
    expect(readdirSync(sandbox.folder).filter((name) => name.startsWith("kept"))).toEqual([]);
  });
});
