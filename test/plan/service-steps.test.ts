import path from "node:path";

import { loadStackFile, PROJECT_DIRECTORY } from "../../config/load";
import { stepCommand } from "../../plan/script";
import { planStack, type StackPlan } from "../../plan/stack";

/** The plan of kpro6, whose two services use the same cards: `qwen` is enabled, `kimi` is not. */
function kpro6(): StackPlan {
  return planStack(loadStackFile(path.join(PROJECT_DIRECTORY, "Pulumi.kpro6.yaml")), PROJECT_DIRECTORY);
}

function service(plan: StackPlan, name: string) {
  const found = plan.services.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

describe("a service that is not enabled", () => {
  test("tells its step so, in the line that a preview shows", () => {
    const plan = kpro6();
    expect(stepCommand(service(plan, "kimi").step)).toContain(" enabled=false ");
    expect(stepCommand(service(plan, "qwen").step)).toContain(" enabled=true ");
    expect(service(plan, "kimi").step.summary).toMatch(/neither started nor enabled/);
  });

  test("has the same files as an enabled one: unit, environment, gate and probe", () => {
    const files = (name: string) =>
      Object.keys(service(kpro6(), name).step.texts).map((file) => file.replaceAll(name, "NAME"));
    expect(files("kimi")).toEqual(files("qwen"));
    expect(files("kimi")).toContain("/etc/systemd/system/sglang-NAME.service");
  });
});

describe("a service that takes the place of a hand-made unit", () => {
  test("tells its step which, and restarts for nothing of it", () => {
    const config = loadStackFile(path.join(PROJECT_DIRECTORY, "Pulumi.kpro6.yaml"));
    const qwen = config.services["qwen"];
    if (qwen === undefined) throw new Error("kpro6 has no qwen");
    const replacing = { ...config.services, qwen: { ...qwen, replaces: "llm.service" } };
    const args = service(planStack({ ...config, services: replacing }, PROJECT_DIRECTORY), "qwen").step.args;
    expect(args["replaces"]).toBe("llm.service");
    expect({ ...args, replaces: undefined }).toEqual({
      ...service(kpro6(), "qwen").step.args,
      replaces: undefined,
    });
  });
});
