import { ask } from "./lab-stack";
import { usePreparedLab } from "./deployed-lab";

const stack = usePreparedLab();

describe("a host from the saved, prepared state", () => {
  it("lacks only the service", () => {
    expect(stack.previewedSteps()).toEqual(["create qwen-service"]);
  });

  it("serves after an up, and is then as declared, also after everything was read back", async () => {
    stack.deploy();
    expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
    expect(stack.pulumi("preview", "--refresh", "--expect-no-changes")).toMatchObject({ status: 0 });
  });
});
