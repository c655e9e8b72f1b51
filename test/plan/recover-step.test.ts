import { resolve } from "node:path";

import { assess } from "../../cli/findings";
import { recoverStep } from "../../plan/recover-step";
import { stepCommand } from "../../plan/script";

/** The recovery of a stack's service, as its file stands in the repository. */
function recovery(stack: string, service: string) {
  const { config, plan } = assess(resolve(__dirname, "..", "..", `Pulumi.${stack}.yaml`));
  const wanted = plan?.services.find(({ name }) => name === service);
  if (config === undefined || wanted === undefined) throw new Error(`no service ${service}`);
  return { own: wanted.step, step: recoverStep(config, wanted) };
}

describe("the step that recovers a service", () => {
  const { own, step } = recovery("lab", "qwen");

  it("runs where the service runs, on what its own step installed", () => {
    expect(step.target).toEqual(own.target);
    for (const name of ["name", "unit", "python", "environment", "spec"])
      expect(step.args[name]).toBe(own.args[name]);
    expect(stepCommand(step)).toMatch(/^pct exec 129 --keep-env 0 -- bash -s -- qwen-recover /);
  });

  it("knows the service's cards and what each must have free", () => {
    expect(step.args["cards"]).toBe(
      "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1,GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2",
    );
    const specification = JSON.parse(own.texts[own.args["spec"] ?? ""] ?? "") as {
      gpus: { freeMiB?: number };
    };
    expect(step.args["freeMiB"]).toBe(String(specification.gpus.freeMiB ?? ""));
  });

  it("may take as long as a start, a stop and the release of the cards", () => {
    expect(recovery("kpro6", "kimi").step.timeoutMinutes).toBe(90 + 2 + 10);
  });

  it("carries no secret and no text", () => {
    expect([step.secrets, step.texts]).toEqual([[], {}]);
  });
});
