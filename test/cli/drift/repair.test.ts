import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { repair } from "../../../cli/drift/repair";
import type { DriftReport, DriftRow } from "../../../cli/drift/report";
import { assess } from "../../../cli/findings";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { stepCommand } from "../../../plan/script";
import { allSteps } from "../../../plan/stack";

const { config, plan } = (() => {
  const assessed = assess(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"));
  if (assessed.config === undefined || assessed.plan === undefined)
    throw new Error("the lab's stack is refused");
  return { config: assessed.config, plan: assessed.plan };
})();

/** State of the lab's stack as an `up` leaves it. */
const STATE = {
  version: 3,
  deployment: {
    manifest: { time: "2026-11-30T01:00:00Z" },
    resources: [
      ...allSteps(plan).map((step) => ({
        urn: `urn:pulumi:lab::p::command:remote:Command::${step.name}`,
        type: "command:remote:Command",
        inputs: { create: stepCommand(step) },
        outputs: { create: stepCommand(step) },
      })),
      {
        urn: "urn:pulumi:lab::p::proxmoxve:index/containerLegacy:ContainerLegacy::ml-container",
        type: "proxmoxve:index/containerLegacy:ContainerLegacy",
        inputs: {},
        outputs: {},
      },
    ],
  },
};

jest.setTimeout(60_000);

let folder: string;
let oldPath: string | undefined;
let stopped: number[];
let touched: string[];

/** A pulumi that keeps its state in a file and notes what it is asked to do. */
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "repair-"));
  stopped = [];
  touched = [];
  oldPath = process.env.PATH;
  process.env.PATH = `${folder}:${oldPath ?? ""}`;
  writeFileSync(path.join(folder, "state.json"), JSON.stringify(STATE));
  const file = path.join(folder, "pulumi");
  writeFileSync(
    file,
    `#!/bin/bash
cd ${folder}
printf '%s\\n' "$*" >>calls
case "$1 $2" in
  "stack export") if [[ -e next.json && -e exported ]]; then cat next.json; else cat state.json; fi; touch exported ;;
  "stack import") cat >imported.json ;;
  "up --yes") [[ ! -e fails ]] || { echo "the reason" >&2; exit 255; } ;;
esac
`,
  );
  chmodSync(file, 0o755);
  jest.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterEach(() => {
  process.env.PATH = oldPath;
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const row = (step: string, change: Partial<DriftRow> = {}): DriftRow => ({
  where: "",
  step,
  declared: "",
  found: "it differs",
  repair: "",
  repairable: true,
  ...change,
});
const report = (...rows: DriftRow[]): DriftReport => ({ checked: 12, rows, unchecked: [] });
const calls = () =>
  existsSync(path.join(folder, "calls")) ? readFileSync(path.join(folder, "calls"), "utf8") : "";
const ups = () =>
  calls()
    .split("\n")
    .filter((call) => call.startsWith("up "));
const imported = () => readFileSync(path.join(folder, "imported.json"), "utf8");

/** Repairs what is reported first; the reports after it come one after the other. */
function repaired(first: DriftReport, ...later: DriftReport[]): Promise<string[]> {
  return repair({
    file: "/somewhere/Pulumi.lab.yaml",
    config,
    plan,
    first,
    stop: (vmId) => {
      stopped.push(vmId);
      return Promise.resolve();
    },
    touch: (paths) => {
      touched.push(...paths);
      return Promise.resolve();
    },
    look: () => Promise.resolve(later.shift() ?? report()),
  });
}

test("what differs is marked and is all that Pulumi is asked to update; other steps have no mark", async () => {
  expect(await repaired(report(row("qwen-service"), row("driver-kernel"), row("qwen-service")))).toEqual([
    "driver-kernel",
    "qwen-service",
  ]);
  expect(ups()).toHaveLength(1);
  expect(ups()[0]?.match(/--target \S+/g)).toEqual([
    "--target urn:pulumi:lab::p::command:remote:Command::driver-kernel",
    "--target urn:pulumi:lab::p::command:remote:Command::qwen-service",
  ]);
  expect(ups()[0]).not.toMatch(/--replace|--refresh|--target-dependents/);
  expect(imported().match(/"create":"drifted \(/g)).toHaveLength(4);
  expect(stopped).toEqual([]);
});

test("what the API keeps is read anew and has no mark", async () => {
  await repaired(report(row("ml-container")));
  expect(ups()[0]).toMatch(/ --refresh --target \S+::ml-container /);
  expect(existsSync(path.join(folder, "imported.json"))).toBe(false);
  expect(stopped).toEqual([]);
});

test("a container whose settings and devices both differ is stopped first", async () => {
  await repaired(report(row("ml-container"), row("ml-attach")));
  expect(stopped).toEqual([129]);
});

test("a model file whose damage only its hash shows gets a new time, so that its step reads it", async () => {
  const found = "model-00001.safetensors: damaged: size and time are as recorded, the content is not";
  await repaired(report(row("qwen36-snapshot", { found }), row("qwen-service", { found: "x: damaged: y" })));
  expect(touched).toEqual(["/srv/models/qwen3.6-tiny/model-00001.safetensors"]);
  await repaired(report(row("qwen36-snapshot", { found: "config.json: 100 bytes, must be 200" })));
  expect(touched).toHaveLength(1);
});

test("rows that no update repairs are left alone", async () => {
  expect(await repaired(report(row("ml-attach", { repairable: false })))).toEqual([]);
  expect(calls()).toBe("");
});

test("what a repair uncovers is repaired in a further round, what stays the same is not tried for ever", async () => {
  expect(await repaired(report(row("ml-attach")), report(row("qwen-service")), report())).toEqual([
    "ml-attach",
    "qwen-service",
  ]);
  expect(ups()).toHaveLength(2);
  const stays = report(row("ml-claim"));
  await repaired(stays, stays, stays);
  expect(ups()).toHaveLength(3);
});

test.each([
  [
    "changed since the last `up`: qwen-service",
    (text: string) => text.replaceAll("-- qwen-service ", "-- qwen-service x=1 "),
  ],
  ["never deployed: qwen-service", (text: string) => text.replaceAll("::qwen-service", "::old-service")],
])("%s: refused, and nothing is changed", async (reason, change) => {
  writeFileSync(path.join(folder, "state.json"), change(JSON.stringify(STATE)));
  await expect(repaired(report(row("qwen-service"), row("ml-claim")))).rejects.toThrow(reason);
  expect(calls()).not.toMatch(/^(up|stack import)/m);
});

test("a state that somebody else has written meanwhile is not overwritten", async () => {
  writeFileSync(path.join(folder, "next.json"), JSON.stringify(STATE).replace("T01:00:00", "T01:00:09"));
  await expect(repaired(report(row("qwen-service")))).rejects.toThrow("somebody else is changing this stack");
  expect(calls()).not.toMatch(/^(up|stack import)/m);
});

test("a step that was marked by a repair that failed is repaired by the next one", async () => {
  writeFileSync(path.join(folder, "fails"), "");
  await expect(repaired(report(row("ml-claim")))).rejects.toThrow(/pulumi up ended with 255\n {2}fix: /);
  rmSync(path.join(folder, "fails"));
  copyFileSync(path.join(folder, "imported.json"), path.join(folder, "state.json"));
  expect(await repaired(report(row("ml-claim")))).toEqual(["ml-claim"]);
  expect(imported().match(/drifted \(/g)).toHaveLength(2);
});
