import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { inspectStack } from "../../config/load";
import { planContainers, operatingSystemOf, type ContainerPlan } from "../../plan/container-steps";
import { stepCommand } from "../../plan/script";

const LEFT = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
const RIGHT = "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2";

type Entry = Record<string, unknown>;

/** The lab's container `ml`, its stack file changed. */
function plan(change: (ml: Entry, file: Record<string, Entry>) => void = () => undefined): ContainerPlan {
  const text = readFileSync(join(__dirname, "..", "..", "Pulumi.lab.yaml"), "utf8").replaceAll(
    /file:\S+/g,
    "a".repeat(64),
  );
  const { config } = parse(text) as { config: Record<string, unknown> };
  const file = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  ) as Record<string, Entry>;
  change(file.containers?.ml as Entry, file);
  const raw = Object.fromEntries(
    Object.entries(file).map(([key, value]) => [
      `proxmox-gpu-stack:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  const inspection = inspectStack(raw, { source: "test" });
  if (inspection.config === undefined) throw new Error(JSON.stringify(inspection.problems));
  const [container] = planContainers(inspection.config);
  if (!container) throw new Error("no container was planned");
  return container;
}

const line = (container: ContainerPlan, step: "claim" | "attach" | "userland" | "cuda") => {
  const found = container[step];
  return found === undefined ? "" : stepCommand(found);
};

/** Which steps of a container read differently after a change. */
function changedSteps(change: (ml: Entry, file: Record<string, Entry>) => void): string[] {
  const [before, after] = [plan(), plan(change)];
  return (["claim", "attach", "userland", "cuda"] as const).filter(
    (step) => line(before, step) !== line(after, step),
  );
}

describe("the steps of a container", () => {
  it("name cards with their identities, so that another card under the same name shows", () => {
    expect(plan().attach.args.cards).toBe(`a6000-0:${LEFT},a6000-1:${RIGHT}`);
    const other = "GPU-00000000-0000-0000-0000-000000000001";
    expect(changedSteps((_, { gpus }) => Object.assign(gpus?.["a6000-1"] ?? {}, { uuid: other }))).toEqual([
      "attach",
      "cuda",
    ]);
  });

  it.each<[string, Entry]>([
    ["a mount", { mounts: [{ source: "/srv/models", target: "/models", readOnly: false }] }],
    ["the mode of the nodes", { deviceMode: "0660" }],
    ["its cards", { gpus: ["a6000-1"] }],
  ])("look at CUDA again after a change of %s", (_what, change) => {
    expect(changedSteps((ml) => Object.assign(ml, change))).toEqual(["attach", "cuda"]);
  });

  it("wait at the claim for whoever holds the container, before the API changes memory", () => {
    expect(changedSteps((ml) => Object.assign(ml, { memoryGiB: 8 }))).toEqual(["claim", "attach", "cuda"]);
  });

  it.each<[string, Entry]>([
    ["tags", { tags: ["other"] }],
    ["a description", { description: "what it is for" }],
    ["its start with the host", { startOnBoot: false }],
    ["its place in the startup order", { startupOrder: 3 }],
  ])("and before the API changes %s, which nothing else looks at", (_what, change) => {
    expect(changedSteps((ml) => Object.assign(ml, change))).toEqual(["claim"]);
  });

  it("compare the UUIDs that nvidia-smi lists; cards known by address are only counted", () => {
    expect(plan().cuda?.args).toMatchObject({ count: "2", uuids: `${LEFT},${RIGHT}` });
    const byAddress = plan((_, { gpus }) => {
      Object.assign(gpus ?? {}, { "a6000-1": { model: "rtx-a6000", pci: "0000:61:00.0" } });
    });
    expect(byAddress.cuda?.args).toMatchObject({ count: "2", uuids: "" });
    expect(byAddress.attach.args.cards).toBe(`a6000-0:${LEFT},a6000-1:0000:61:00.0`);
  });

  it("of one without cards have nothing to do with the driver", () => {
    const container = plan((ml, file) => {
      ml.gpus = [];
      delete file.services;
      delete file.environments;
    });
    expect(container).toMatchObject({ userland: undefined, cuda: undefined });
    expect(container.attach.args).toMatchObject({ cards: "" });
    expect(container.attach.args).not.toHaveProperty("driver");
  });

  it("claim the id first; adoption also says what must not be lost", () => {
    expect(plan().claim).toMatchObject({ args: { id: "129", diskGiB: "16", adopt: "no" }, removable: true });
    expect(plan((ml) => Object.assign(ml, { adopt: true })).claim.args).toEqual({
      id: "129",
      diskGiB: "16",
      settings: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
      adopt: "yes",
      unprivileged: "1",
      storage: "local-lvm",
      mounts: "/srv/models:/models:ro",
    });
    // Mounts of a container that is not adopted do not concern its claim.
    expect(
      changedSteps((ml) => Object.assign(ml, { mounts: [{ source: "/srv", target: "/srv" }] })),
    ).not.toContain("claim");
  });
});

describe("the system of a template", () => {
  it.each([
    ["debian-12-standard_12.12-1_amd64.tar.zst", "debian"],
    ["ubuntu-24.04-standard_24.04-2_amd64.tar.zst", "ubuntu"],
    ["archlinux-base_20240911-1_amd64.tar.zst", "archlinux"],
    ["my-own-image.tar.zst", "unmanaged"],
  ])("%s is %s", (file, system) => {
    expect(operatingSystemOf(file)).toBe(system);
  });
});
