import { spawnSync } from "node:child_process";

import { checkScript, parseLooks, READ_AND_RUN, type Look } from "../../../plan/drift/check-script";
import { step, HOST, inContainer, type Step } from "../../../plan/step";
import { Sandbox } from "../../scripts/bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** The check of a machine's host name: short, and there everywhere. */
function stepOn(target: Step["target"], name: string, args: Record<string, string> = {}): Step {
  return step({
    name,
    target,
    script: "host/boot-wait",
    args: { after: "0", ...args },
    timeoutMinutes: 1,
    summary: "",
  });
}

/** Runs the script as ssh would on a host where `pct exec` runs here. */
function run(steps: readonly Step[], change: Partial<Parameters<typeof checkScript>[0]> = {}) {
  const script = checkScript({
    steps,
    containers: [],
    secrets: {},
    mark: "MARK",
    limitSeconds: 10,
    ...change,
  });
  const { stdout, stderr } = spawnSync("bash", ["-c", READ_AND_RUN], {
    input: script,
    encoding: "utf8",
    env: { ...process.env, PATH: `${sandbox.path("bin")}:${process.env.PATH ?? ""}` },
  });
  return { looks: parseLooks(stdout, "MARK"), stdout, stderr };
}

const resultOf = (look: Look | undefined) =>
  JSON.parse(look?.output.split("\n").at(-1) ?? "") as Record<string, unknown>;

test("steps of host and container are looked at in one go, each with its own arguments", () => {
  sandbox.command("pct", '[[ $1 == exec && $2 == 129 ]] || exit 9; shift 5; exec "$@"');
  const { looks, stderr } = run([
    stepOn(HOST, "first", { driver: "580.1" }),
    stepOn(inContainer(129), "inside", { driver: "590.1" }),
    stepOn(inContainer(129), "too", {}),
    stepOn(HOST, "last", {}),
  ]);
  expect(stderr).toBe("");
  const names = looks.map(({ kind, name, status }) => `${kind} ${name} ${status}`).sort();
  expect(names).toEqual(["container 129 0", "step first 0", "step inside 0", "step last 0", "step too 0"]);
  const of = (name: string) => resultOf(looks.find((look) => look.name === name));
  expect(of("first")["differences"]).toEqual([expect.stringContaining("declared is 580.1")]);
  expect(of("inside")["differences"]).toEqual([expect.stringContaining("declared is 590.1")]);
  expect(of("last")).toMatchObject({ changed: false, differences: [] });
});

test("a step that fails says why, and the others are looked at all the same", () => {
  const fails = {
    ...stepOn(HOST, "fails"),
    script: "host/driver-userland",
    args: { id: "9", version: "1.2" },
  };
  const { looks } = run([fails, stepOn(HOST, "good", { "a b": "$(exit 3) 'q'" })]);
  const failed = looks.find(({ name }) => name === "fails");
  expect(failed?.status).toBe(1);
  expect(failed?.output).toMatch(/ {2}cause: the host's module is '.*', declared is 1\.2/);
  expect(looks.find(({ name }) => name === "good")?.status).toBe(0);
});

test("a container that cannot be entered says why, and one that hangs is given up", () => {
  sandbox.command(
    "pct",
    "[[ $2 == 130 ]] && exec sleep 60; echo \"container '$2' not running!\" >&2; exit 255",
  );
  const { looks } = run([stepOn(inContainer(129), "a"), stepOn(inContainer(130), "b"), stepOn(HOST, "c")], {
    limitSeconds: 1,
  });
  expect(looks.find(({ name }) => name === "129")).toMatchObject({
    kind: "container",
    status: 255,
    output: "container '129' not running!",
  });
  expect(looks.find(({ name }) => name === "130")).toMatchObject({ kind: "container", status: 124 });
  expect(looks.find(({ name }) => name === "c")?.status).toBe(0);
  expect(looks.filter(({ kind }) => kind === "step")).toHaveLength(1);
});

test("more steps than the machine has cores are all looked at, none twice", () => {
  const names = Array.from({ length: 25 }, (_, index) => `s${index}`);
  const { looks } = run(names.map((name) => stepOn(HOST, name)));
  expect(looks.map(({ name }) => name).sort()).toEqual([...names].sort());
});

test("secrets reach only the steps that ask for them, and no command line", () => {
  const secret = "s3cret-'$(id)'";
  const asks: Step = { ...stepOn(inContainer(129), "asks"), secrets: ["serviceApiKey"] };
  sandbox.command("pct", `printf '%s\\n' "$*" >${sandbox.path("words")}; cat >${sandbox.path("input")}`);
  run([asks, stepOn(HOST, "other")], { secrets: { serviceApiKey: secret, huggingFaceToken: "hf" } });
  const read = (name: string) => spawnSync("cat", [sandbox.path(name)], { encoding: "utf8" }).stdout;
  expect(read("input")).toContain("s3cret-");
  expect(read("input")).not.toContain("huggingFaceToken");
  expect(read("words")).not.toContain("s3cret-");
});

test("an output that was cut off gives what was whole", () => {
  const output = "noise\nMARK step a 0 12\n{}\nMARK step b 1 7\nrest without an end";
  expect(parseLooks(output, "MARK")).toEqual([
    { kind: "step", name: "a", status: 0, milliseconds: 12, output: "noise" },
    { kind: "step", name: "b", status: 1, milliseconds: 7, output: "{}" },
  ]);
});
