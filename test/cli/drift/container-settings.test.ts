import { readFileSync } from "node:fs";
import path from "node:path";

import { settingDrifts } from "../../../cli/drift/container-settings";
import { assess } from "../../../cli/findings";
import { PROJECT_DIRECTORY } from "../../../config/load";
import type { ContainerPlan } from "../../../plan/container-steps";

const base = assess(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml")).plan?.containers[0];
if (base === undefined) throw new Error("the lab's stack is refused");
const plan: ContainerPlan = base;

/** The file as a lab host had it after an `up`. */
const DEPLOYED = readFileSync(path.join(__dirname, "fixtures", "129.conf"), "utf8");

const drifts = (text: string, declared: object = {}) =>
  settingDrifts({ ...plan, settings: { ...plan.settings, ...declared } }, text).map(
    ({ setting, declared: wanted, found, repairable }) =>
      `${setting}: ${found} instead of ${wanted}${repairable ? "" : ", for good"}`,
  );
const changed = (from: RegExp, to: string) => {
  expect(DEPLOYED).toMatch(from);
  return DEPLOYED.replace(from, to);
};

test("a container as it was deployed does not differ", () => {
  expect(drifts(DEPLOYED)).toEqual([]);
});

test.each([
  [/^memory: .*$/m, "memory: 2048", "memory (MiB): 2048 instead of 4096"],
  [/^memory: .*\n/m, "", "memory (MiB): 512 instead of 4096"],
  [/^cores: .*\n/m, "", "cores: all instead of 2"],
  [/^swap: .*$/m, "swap: 1024", "swap (MiB): 1024 instead of 0"],
  [/^hostname: .*$/m, "hostname: other", "hostname: other instead of ml"],
  [/bridge=vmbr0/, "bridge=vmbr9", "bridge: vmbr9 instead of vmbr0"],
  [/ip=10.77.0.129\/24/, "ip=dhcp", "address: dhcp instead of 10.77.0.129/24"],
  [/gw=10.77.0.1,/, "", "gateway: nothing instead of 10.77.0.1"],
  [/^nameserver: .*$/m, "nameserver: 9.9.9.9", "name servers: 9.9.9.9 instead of 10.77.0.1"],
  [/^tags: .*$/m, "tags: gpu", "tags: gpu instead of gpu;ml"],
  [/^onboot: .*\n/m, "", "start on boot: 0 instead of 1"],
  [/^ostype/m, "net1: name=eth1,bridge=vmbr1\nostype", "net1: name=eth1,bridge=vmbr1 instead of nothing"],
  [/size=16G/, "size=32G", "root disk (GiB): 32 instead of 16, for good"],
  [/size=16G/, "size=8G", "root disk (GiB): 8 instead of 16"],
  [/^rootfs: local-lvm/m, "rootfs: other", "root disk's storage: other instead of local-lvm, for good"],
  [/^unprivileged: 1\n/m, "", "unprivileged: false instead of true, for good"],
])("%s as %j: %s", (from, to, told) => {
  expect(drifts(changed(from, to))).toEqual([told]);
});

test("tags differ by what they are, not by their order or their separators", () => {
  expect(drifts(changed(/^tags: .*$/m, "tags: ml,gpu"))).toEqual([]);
});

test("a description is compared as text, whatever Proxmox VE encodes", () => {
  const description = "Zwei Karten für das Modell.\nSecond line: 100 % = all";
  const encoded = "#Zwei Karten f%C3%BCr das Modell.\n#Second line%3A 100 %25 = all\n";
  expect(drifts(encoded + DEPLOYED, { description })).toEqual([]);
  expect(drifts(`#100 % by hand\n${DEPLOYED}`, { description })).toHaveLength(1);
});

test("what the stack file leaves open may be anything", () => {
  const text = `#somebody's note\n${changed(/^tags: .*$/m, "tags: other")}startup: order=3\nsearchdomain: lan\n`;
  expect(drifts(text, { tags: [] })).toEqual([]);
});

test("a snapshot in the same file is not what the container is", () => {
  expect(drifts(`${DEPLOYED}\n[before]\nmemory: 1\ncores: 1\n`)).toEqual([]);
});
