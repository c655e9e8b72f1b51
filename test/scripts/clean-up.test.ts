import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { networkHolders, takeNetwork } from "../lab/network";

const cleanUp = (folder: string) =>
  spawnSync(join(__dirname, "..", "clean-up"), [folder], { encoding: "utf8" });
const make = (name: string) => mkdtempSync(join(tmpdir(), `${name}-`));
const holders = () => [...networkHolders().values()];

describe("the clean-up after a test run", () => {
  it("removes the run's folder, and gives its networks back", () => {
    const run = make("run");
    const lab = join(run, "lab");
    mkdirSync(lab);
    expect(takeNetwork(lab)).not.toBe(takeNetwork(lab));
    expect(holders()).toContain(lab);
    expect(cleanUp(run)).toMatchObject({ status: 0, stderr: "" });
    expect(existsSync(run)).toBe(false);
    expect(holders()).not.toContain(lab);
  });

  it("leaves what other runs have as it is: their networks, and links to nowhere in their labs", () => {
    const other = make("other");
    symlinkSync("/nowhere", join(other, "link"));
    takeNetwork(other);
    expect(cleanUp(make("run"))).toMatchObject({ status: 0, stderr: "" });
    expect(lstatSync(join(other, "link")).isSymbolicLink()).toBe(true);
    expect(holders()).toContain(other);
    rmSync(other, { recursive: true });
  });
});
