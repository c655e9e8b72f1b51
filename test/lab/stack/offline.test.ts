import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { initStack, PROJECT } from "./lab-stack";

const folder = mkdtempSync(join(tmpdir(), "offline-"));
const environment = { ...process.env, LAB_DIR: folder };
jest.setTimeout(120_000);

function run(command: string, ...args: string[]) {
  return spawnSync(command, args, { cwd: PROJECT, env: environment, encoding: "utf8", maxBuffer: 1 << 26 });
}

function pulumi(stack: string, ...words: string[]) {
  const flags = [
    "--stack",
    stack,
    "--config-file",
    join(folder, `Pulumi.${stack}.yaml`),
    "--non-interactive",
  ];
  return run(
    "bash",
    "-c",
    '. engine/env.sh && exec pulumi "$@"',
    "pulumi",
    ...words,
    ...flags,
    "--color=never",
  );
}

beforeAll(() => {
  expect(run("engine/install").status).toBe(0);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe.each(["kpro5", "kpro6"])("the stack %s, whose host cannot be reached", (name) => {
  it("previews all its resources", () => {
    copyFileSync(join(PROJECT, `Pulumi.${name}.yaml`), join(folder, `Pulumi.${name}.yaml`));
    initStack(name, folder, environment);
    const result = pulumi(name, "preview");
    expect(result.stdout).toMatch(/\+ \d+ to create/);
    expect(result.stdout).toContain("driver-install");
    expect(result.stdout).toContain("-service");
    expect(result.status).toBe(0);
  });

  it("is refused by up with everything that was never recorded, before anything is dialled", () => {
    const result = pulumi(name, "up", "--yes", "--skip-preview");
    expect(result.status).not.toBe(0);
    expect(result.stdout).toContain("was not recorded");
    expect(result.stdout).not.toContain("driver-kernel");
  });
});
