import { readFileSync } from "node:fs";
import path from "node:path";

import { driftReport } from "../../../cli/drift/report";
import { driftText } from "../../../cli/drift/text";
import { assess } from "../../../cli/findings";
import { PROJECT_DIRECTORY } from "../../../config/load";
import type { Look } from "../../../plan/drift/check-script";
import { scriptText } from "../../../plan/script";
import { allSteps } from "../../../plan/stack";

const found = assess(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml")).plan;
if (found === undefined) throw new Error("the lab's stack is refused");
const plan = found;
const INSIDE = allSteps(plan).filter(({ target }) => target.kind === "container");

const look = (kind: Look["kind"], name: string, output: string, status = 0): Look => ({
  kind,
  name,
  status,
  output,
  milliseconds: 5,
});
const result = (...differences: string[]) => JSON.stringify({ changed: false, differences });

/** Looks at a stack as it was deployed, some of them replaced or (undefined) left out. */
function looks(change: Readonly<Record<string, Look | undefined>> = {}): Look[] {
  const all: Record<string, Look | undefined> = {
    ...Object.fromEntries(allSteps(plan).map(({ name }) => [name, look("step", name, result())])),
    container: look("container", "129", ""),
    configuration: look(
      "configuration",
      "129",
      readFileSync(path.join(__dirname, "fixtures", "129.conf"), "utf8"),
    ),
    ...change,
  };
  return Object.values(all).filter((entry) => entry !== undefined);
}

const report = (change?: Parameters<typeof looks>[0]) => driftReport("pve1", plan, looks(change));
const rows = (change?: Parameters<typeof looks>[0]) =>
  report(change).rows.map(({ where, step, found: there }) => `${where}, ${step}: ${there}`);

test("a stack as it was deployed has every step checked and no row", () => {
  expect(report()).toEqual({ checked: allSteps(plan).length, rows: [], unchecked: [] });
});

test("rows say where, in the order of the stack's steps, whatever the order of the looks", () => {
  const step = (name: string, text: string) => look("step", name, `a line of progress\n${result(text)}`);
  expect(
    rows({
      "qwen-service": step("qwen-service", "is inactive"),
      "driver-kernel": step("driver-kernel", "nouveau is loaded"),
      "ml-driver-userland": step("ml-driver-userland", "of version 1"),
    }),
  ).toEqual([
    "host pve1, driver-kernel: nouveau is loaded",
    "container ml (129), ml-driver-userland: of version 1",
    "container ml (129), qwen-service: is inactive",
  ]);
});

test("a row names what else a repair does", () => {
  const { rows: all } = report({
    "ml-attach": look("step", "ml-attach", result("bind mounts are not as declared")),
  });
  expect(all[0]).toMatchObject({
    repairable: true,
    repair: "runs ml-attach again; the container is restarted",
  });
});

test("a setting that the API keeps is one row, although the attach step sees it too", () => {
  const text = readFileSync(path.join(__dirname, "fixtures", "129.conf"), "utf8").replace("4096", "2048");
  const seen = "memory is '2048', the plan says 4096: Proxmox VE has not taken that change";
  expect(
    rows({
      configuration: look("configuration", "129", text),
      "ml-attach": look("step", "ml-attach", result(seen)),
    }),
  ).toEqual(["container ml (129), ml-container: memory (MiB): 2048"]);
  // What is left out above is told by these words.
  expect(scriptText("host/container-attach.sh")).toContain('Proxmox VE has not taken that change"');
});

test("a step that fails is a row with its cause and its way on, and is not repaired", () => {
  const output =
    "\nerror: step ml-attach on pve1 failed\n  cause: container 129 is locked (backup)\n  next:  wait for it";
  expect(report({ "ml-attach": look("step", "ml-attach", output, 1) }).rows).toEqual([
    expect.objectContaining({
      found: "container 129 is locked (backup)",
      repair: "wait for it",
      repairable: false,
    }),
  ]);
});

test("a stopped container is drift, and what is in it is told as not checked", () => {
  const stopped = Object.fromEntries(INSIDE.map(({ name }) => [name, undefined]));
  const {
    rows: all,
    unchecked,
    checked,
  } = report({
    ...stopped,
    container: look("container", "129", "container '129' not running!", 255),
    "ml-attach": look("step", "ml-attach", result("it is not running")),
    "ml-driver-userland": look(
      "step",
      "ml-driver-userland",
      "  cause: nothing can be run in container 129",
      1,
    ),
  });
  expect(all.map(({ found: there }) => there)).toEqual(["it is not running"]);
  expect(unchecked).toEqual([
    {
      where: "container ml (129)",
      steps: ["ml-driver-userland", ...INSIDE.map(({ name }) => name)],
      reason: "container '129' not running!",
    },
  ]);
  expect(checked).toBe(allSteps(plan).length - INSIDE.length - 1);
});

test("a container that hangs is told as such", () => {
  const hangs = Object.fromEntries(INSIDE.map(({ name }) => [name, undefined]));
  const { unchecked } = report({ ...hangs, container: look("container", "129", "", 124) });
  expect(unchecked[0]?.reason).toBe("it does not answer");
});

test("a container that is gone is one row, and nothing is made up about what was in it", () => {
  const gone = Object.fromEntries(INSIDE.map(({ name }) => [name, undefined]));
  const { rows: all, unchecked } = report({
    ...gone,
    container: look("container", "129", "Configuration file 'nodes/pve1/lxc/129.conf' does not exist", 2),
    configuration: look("configuration", "129", "cat: /etc/pve/lxc/129.conf: No such file or directory", 1),
    "ml-attach": look("step", "ml-attach", "  cause: container 129 does not exist on pve1", 1),
    "ml-driver-userland": look("step", "ml-driver-userland", "  cause: nothing can be run", 1),
  });
  expect(all).toEqual([
    expect.objectContaining({ step: "ml-container", found: "there is no such container", repairable: false }),
  ]);
  expect(unchecked[0]?.steps).toContain("ml-attach");
});

test("a connection that ended early leaves what was not seen as not checked", () => {
  const { unchecked } = driftReport("pve1", plan, [look("step", "driver-kernel", result())]);
  expect(unchecked.map(({ where }) => where)).toEqual(["host pve1", "container ml (129)"]);
  expect(unchecked[0]?.reason).toBe("the connection ended before");
});

test("the text sums up: nothing, what could be checked, or how much differs where", () => {
  const last = (change?: Parameters<typeof looks>[0]) =>
    driftText("Pulumi.lab.yaml", report(change), 1.25).split("\n").at(-1);
  const count = allSteps(plan).length;
  expect(last()).toBe(`Pulumi.lab.yaml: ${count} steps checked in 1.3 s, all as declared`);
  expect(last({ "qwen-service": undefined })).toBe(
    `Pulumi.lab.yaml: ${count - 1} steps checked in 1.3 s, what could be checked is as declared`,
  );
  expect(last({ "qwen-service": look("step", "qwen-service", result("a", "b")) })).toBe(
    `Pulumi.lab.yaml: ${count} steps checked in 1.3 s, 2 differences in 1 step`,
  );
});
