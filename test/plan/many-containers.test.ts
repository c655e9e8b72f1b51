import crypto from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { inspectStack, PROJECT_DIRECTORY } from "../../config/load";
import { stepCommand, stepInput } from "../../plan/script";
import { allSteps, planStack } from "../../plan/stack";
import type { Step } from "../../plan/step";
import { record, type Registered } from "../components/harness";
import { makeMany } from "../lab/stack/many-containers";
import type { StackFile } from "../lab/stack/lab-stack";

const PROJECT = join(__dirname, "..", "..");

/** The lab's stack with so many containers, each with a card, an environment and a service, as Pulumi hands it over. */
function configuration(size: number): Record<string, string> {
  const text = fs
    .readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8")
    .replaceAll(/file:\S+/g, "a".repeat(64));
  const { config } = parse(text) as { config: StackFile };
  const file = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  );
  makeMany(file, size, "services");
  return Object.fromEntries(
    Object.entries(file).map(([key, value]: [string, unknown]) => [
      `proxmox-gpu-stack:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

/** Everything that a preview computes of a step. */
function planned(size: number): Step[] {
  const { config, problems } = inspectStack(configuration(size), { source: "test" });
  if (config === undefined) throw new Error(JSON.stringify(problems));
  const steps = allSteps(planStack(config, PROJECT_DIRECTORY));
  for (const step of steps) {
    stepCommand(step);
    stepInput(step);
  }
  return steps;
}

/** How often a plan of so many containers reads files and computes digests. */
function work(size: number): { reads: number; scripts: number; digests: number } {
  const reads = jest.spyOn(fs, "readFileSync");
  const digests = jest.spyOn(crypto, "createHash");
  planned(size);
  const counted = {
    reads: reads.mock.calls.length,
    scripts: reads.mock.calls.filter(([path]) => String(path).endsWith(".sh")).length,
    digests: digests.mock.calls.length,
  };
  jest.restoreAllMocks();
  return counted;
}

describe("the plan of a stack with many containers", () => {
  it.each([1, 10, 100])(
    "of %d has five steps of the driver, one of the model and six of each container",
    (size) => {
      expect(planned(size)).toHaveLength(5 + 1 + 6 * size);
    },
  );

  it("names every step once", () => {
    const names = planned(100).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it("costs the same for each further container, and reads no script again for it", () => {
    planned(1);
    const [one, ten, hundred] = [work(1), work(10), work(100)];
    expect(hundred.scripts).toBe(0);
    for (const what of ["reads", "digests"] as const) {
      const each = (ten[what] - one[what]) / 9;
      expect(each).toBeGreaterThan(0);
      expect(hundred[what] - ten[what]).toBe(90 * each);
    }
  });
});

describe("the resources of a stack with many containers", () => {
  const SIZE = 100;
  let resources: Registered[];

  beforeAll(async () => {
    // As in Pulumi.yaml: the SDK keeps a stack trace of every promise.
    Error.stackTraceLimit = 2;
    resources = await record(configuration(SIZE), [], () => {
      jest.isolateModules(() => {
        jest.requireActual("../../index");
      });
    });
  }, 120_000);

  const nameOf = (urn: string) => urn.split("::").at(-1) ?? "";
  /** Which container a resource belongs to; undefined for what all have. */
  const containerOf = (name: string) => /^(?:ml|env|qwen)-(\d+)(?:-|$)/.exec(name)?.[1];

  it("are ten of each container: three components, its container, six steps", () => {
    const counts = new Map<string, number>();
    for (const { name } of resources) {
      const container = containerOf(name);
      if (container !== undefined) counts.set(container, (counts.get(container) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual(Array.from({ length: SIZE }, () => 10));
  });

  it("of one container wait for nothing of another", () => {
    const waits = resources.flatMap(({ name, dependsOn, parent, deletedWith }) =>
      [...dependsOn, parent, deletedWith].map((urn) => [name, nameOf(urn)] as const),
    );
    const crossing = waits.filter(([name, before]) => {
      const other = containerOf(before);
      return other !== undefined && other !== containerOf(name);
    });
    expect(waits.length).toBeGreaterThan(SIZE * 10);
    expect(crossing).toEqual([]);
  });

  it("name what they wait for without repeating it for each container", () => {
    const most = Math.max(...resources.map(({ dependsOn }) => dependsOn.length));
    expect(most).toBeLessThanOrEqual(3);
  });
});
