import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { inspectStack } from "../../config/load";
import { UNKNOWN } from "../../config/schema";
import { stepCommand } from "../../plan/script";
import { shareEnvironments } from "../../plan/shared-environments";
import { allSteps, planStack } from "../../plan/stack";

const PROJECT = join(__dirname, "..", "..");

type Entry = Record<string, unknown>;

/** The lab's stack with a wheelhouse and a second and third container, each with an environment; planned. */
function plan(change: (environments: Record<string, Entry>, file: Record<string, Entry>) => void) {
  const text = readFileSync(join(PROJECT, "Pulumi.lab.yaml"), "utf8").replaceAll(/file:\S+/g, "a".repeat(64));
  const { config: values } = parse(text) as { config: Record<string, unknown> };
  const file = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  ) as Record<string, Entry>;
  const { ml } = file.containers as { ml: Entry };
  const beside = (vmId: number): Entry => ({
    ...ml,
    vmId,
    gpus: [],
    network: { address: `10.77.0.${vmId}/24`, gateway: "10.77.0.1" },
  });
  file.containers = { ml, second: beside(130), third: beside(131) };
  file.wheelhouse = { path: "/srv/wheelhouse" };
  const environments = file.environments as Record<string, Entry>;
  const first = environments["ml-env"];
  environments["ml-env-2"] = { ...first, container: "second" };
  environments["ml-env-3"] = { ...first, container: "third" };
  change(environments, file);
  const raw = Object.fromEntries(
    Object.entries(file).map(([key, value]) => [
      `proxmox-gpu-stack:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  const { config, problems } = inspectStack(raw, { source: "test", projectDirectory: PROJECT });
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return { config, ...planStack(config, PROJECT) };
}

/** The environments, with what they share or link to. */
const sharing = (...args: Parameters<typeof plan>) =>
  plan(...args).environments.map(({ name, share, sharedFrom }) => [name, share?.name ?? sharedFrom ?? "-"]);

describe("environments of one content in several containers", () => {
  it("are built in the container of the first by name; the others name it", () => {
    expect(sharing(() => undefined)).toEqual([
      ["ml-env", "ml-env-share"],
      ["ml-env-2", "ml-env"],
      ["ml-env-3", "ml-env"],
    ]);
  });

  it("are copied to the wheelhouse by a step of the host right after the first", () => {
    const { environments, ...rest } = plan(() => undefined);
    const names = allSteps({ environments, ...rest }).map(({ name }) => name);
    const from = names.indexOf("ml-env-environment");
    expect(names.slice(from, from + 3)).toEqual([
      "ml-env-environment",
      "ml-env-share",
      "ml-env-2-environment",
    ]);
    const line = stepCommand(environments[0]?.share ?? fail());
    const digest = environments[0]?.digest ?? "";
    expect(line).toMatch(/^bash -s -- ml-env-share /);
    expect(line).toContain(`digest=${digest} name=ml-env `);
    expect(line).toContain(` vmid=129 wanted=${digest} wheelhouse=/srv/wheelhouse`);
  });

  it("name all that the stack shares, so that none is removed before it is linked to", () => {
    const { environments } = plan((all) => {
      all["other-1"] = { ...all["ml-env"], lock: "lab-sglang-0.5.11-next", path: "/opt/other" };
      all["other-2"] = { ...all["ml-env-2"], lock: "lab-sglang-0.5.11-next", path: "/opt/other" };
    });
    const digests = [...new Set(environments.map(({ digest }) => digest))].join(",");
    expect(environments.flatMap(({ share }) => share?.args.wanted ?? [])).toEqual([digests, digests]);
  });
});

describe("nothing is shared, and every step is as without sharing,", () => {
  const expectNothing = (...args: Parameters<typeof plan>) => {
    for (const [, shared] of sharing(...args)) expect(shared).toBe("-");
  };

  it("without a wheelhouse", () => {
    expectNothing((_, file) => delete file.wheelhouse);
  });

  it("where one container has it twice", () => {
    expectNothing((all) => {
      delete all["ml-env-3"];
      Object.assign(all["ml-env-2"] ?? {}, { container: "ml", path: "/opt/twice" });
    });
  });

  it("where contents differ", () => {
    expectNothing((all) => {
      delete all["ml-env-3"];
      Object.assign(all["ml-env-2"] ?? {}, { lock: "lab-sglang-0.5.11-next" });
    });
  });

  it("for locks that nobody has made yet", () => {
    const { config, environments } = plan(() => undefined);
    const unknown = environments.map((plan) => ({ ...plan, share: undefined, digest: UNKNOWN }));
    expect(shareEnvironments(config, unknown)).toEqual(unknown);
  });
});

function fail(): never {
  throw new Error("the first environment has no step that shares it");
}
