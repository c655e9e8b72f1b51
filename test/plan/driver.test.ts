import { installerOptions } from "../../plan/driver";
import { compare } from "../../plan/version";

describe("options of NVIDIA's installer", () => {
  it.each([
    ["580.105.08", "open", ["--kernel-module-type=open", "--allow-installation-with-running-driver"]],
    [
      "555.42.02",
      "proprietary",
      ["--kernel-module-type=proprietary", "--allow-installation-with-running-driver"],
    ],
    ["550.163.01", "open", ["-m=kernel-open", "--allow-installation-with-running-driver"]],
    ["545.23.06", "proprietary", ["-m=kernel", "--allow-installation-with-running-driver"]],
    ["535.183.01", "open", ["-m=kernel-open"]],
  ] as const)("of %s with %s modules are those that this version knows", (version, modules, expected) => {
    expect(installerOptions(version, modules)).toEqual(expected);
  });
});

describe("comparing driver versions", () => {
  it.each([
    ["580.105.08", "580.95.05", 1],
    ["570.133.07", "575.57.08", -1],
    ["590.48.01", "590.48.1", 0],
    ["580.65", "580.65.06", -1],
  ])("%s against %s", (left, right, sign) => {
    expect(Math.sign(compare(left, right))).toBe(sign);
  });
});
