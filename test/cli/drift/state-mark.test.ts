import { deployedLine, markSteps, stepResource, type StateFile } from "../../../cli/drift/state-mark";

const TIME = new Date("2026-11-30T02:00:00Z");
const urn = (name: string) => `urn:pulumi:s::p::c$command:remote:Command::${name}`;
const resource = (name: string, create: string) => ({
  urn: urn(name),
  type: "command:remote:Command",
  id: name,
  inputs: { create, stdin: "script", delete: "remove it" },
  outputs: { create, stdin: "script", stdout: "{}" },
  protect: false,
});
const state = (): StateFile & { version: number } => ({
  version: 3,
  deployment: {
    manifest: { time: "1" },
    resources: [resource("one", "bash -s -- one"), resource("two", "bash -s -- two")],
  },
});

test("a mark is in inputs and outputs of the step's line only; all else of the state stays", () => {
  const before = state();
  const marked = markSteps(before, new Set([urn("one")]), TIME);
  const line = "drifted (2026-11-30T02:00:00.000Z): bash -s -- one";
  const one = before.deployment.resources?.[0];
  expect(marked).toEqual({
    ...before,
    deployment: {
      ...before.deployment,
      resources: [
        { ...one, inputs: { ...one?.inputs, create: line }, outputs: { ...one?.outputs, create: line } },
        before.deployment.resources?.[1],
      ],
    },
  });
});

test("a second mark takes the place of the first, and the line below it is still known", () => {
  const once = markSteps(state(), new Set([urn("one")]), TIME);
  const twice = markSteps(once, new Set([urn("one")]), TIME);
  expect(twice).toEqual(once);
  const one = stepResource(twice, "one");
  expect(one && deployedLine(one)).toBe("bash -s -- one");
});

test("a step is found by its name among commands only", () => {
  const other = { ...resource("ml", "x"), type: "proxmoxve:index/containerLegacy:ContainerLegacy" };
  expect(stepResource({ deployment: { resources: [other] } }, "ml")).toBeUndefined();
  expect(stepResource({ deployment: {} }, "ml")).toBeUndefined();
});
