import { inspectStack, refuseIncomplete } from "../../config/load";
import { project, rawOf, stack } from "./support";

const retired = (value: string) =>
  inspectStack(
    { ...rawOf(stack()), "proxmox-gpu-stack:retired": value },
    { source: "Pulumi.old.yaml", projectDirectory: project() },
  );

test("a retired stack previews, and an `up` is refused with the day and the way back", () => {
  const inspection = retired("2026-11-30");
  expect(inspection.config?.retired).toBe("2026-11-30");
  expect(() => refuseIncomplete(inspection)).toThrow(
    /retired.*2026-11-30[^]*pulumi config rm proxmox-gpu-stack:retired/,
  );
});

test("a day must be a date", () => {
  const { config, problems } = retired("yesterday");
  expect(config).toBeUndefined();
  expect(problems).toContainEqual(
    expect.objectContaining({
      path: "proxmox-gpu-stack:retired",
      message: expect.stringContaining("a date such as") as string,
    }),
  );
});

test("a stack in service has no such problem", () => {
  expect(
    inspectStack(rawOf(stack()), { source: "x", projectDirectory: project() }).problems.map(({ id }) => id),
  ).not.toContain("retired");
});
