import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { containersOf } from "./containers";
import { useDeployedLab } from "./deployed-lab";

const stack = useDeployedLab();
const { edit, config, expectNoDrift } = containersOf(stack);

describe("an id that somebody else uses", () => {
  const byHand = () => ({
    vmId: 140,
    hostname: "byhand",
    cores: 1,
    memoryGiB: 1,
    rootDisk: { storage: "local-lvm", sizeGiB: 8 },
    network: { address: `${stack.subnet}.140/24`, gateway: `${stack.subnet}.1` },
  });
  const declare = (change: Record<string, unknown> = {}) => {
    edit((all) => {
      all.other = { template: all.ml?.template, ...byHand(), ...change };
    });
  };
  const refusal = () => {
    const { status: failed, output } = stack.pulumi("up", "--yes", "--skip-preview");
    expect(failed).not.toBe(0);
    return output;
  };
  const expectUntouched = () => {
    expect(stack.onHost("pct exec 140 -- cat /root/mark")).toBe("precious");
    expect(stack.onHost("pct exec 140 -- readlink /proc/1/ns/pid")).toBe(namespace);
  };
  let before: string;
  let namespace: string;

  beforeAll(() => {
    stack.onHost(
      `pct create 140 local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst --hostname byhand --cores 2 --memory 1024 --swap 0 --rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=${stack.subnet}.140/24,gw=${stack.subnet}.1 --unprivileged 1 --features nesting=1,keyctl=1 --onboot 1 >/dev/null 2>&1`,
    );
    stack.onHost("pct start 140 && pct exec 140 -- sh -c 'echo precious > /root/mark'");
    before = config(140);
    namespace = stack.onHost("pct exec 140 -- readlink /proc/1/ns/pid");
  });

  it("is refused with its owner's name, and nothing happens to that container", () => {
    declare();
    const output = refusal();
    expect(output).toContain("a container with the id 140 exists already ('byhand'");
    expect(output).toContain("set adopt: true");
    expect(config(140)).toBe(before);
    expectUntouched();
  });

  it("is refused for a virtual machine's", () => {
    stack.onHost("mkdir -p /etc/pve/qemu-server; echo 'name: windows' > /etc/pve/qemu-server/141.conf");
    declare({ vmId: 141 });
    expect(refusal()).toContain("the id 141 is a virtual machine's ('windows'");
    stack.onHost("rm -r /etc/pve/qemu-server");
  });

  it("is refused for adoption where nothing is", () => {
    declare({ vmId: 142, adopt: true });
    expect(refusal()).toContain("there is no container 142 to adopt");
  });

  it("can be adopted: imported, previewed with what differs, neither replaced nor restarted", () => {
    declare({ adopt: true });
    const file = join(stack.folder, "adopt.json");
    writeFileSync(
      file,
      JSON.stringify({
        nameTable: {
          proxmox: "urn:pulumi:test::proxmox-gpu-stack::pulumi:providers:proxmoxve::proxmox",
        },
        resources: [
          { type: "proxmox-gpu-stack:index:GpuContainer", name: "other", component: true },
          {
            type: "proxmoxve:index/containerLegacy:ContainerLegacy",
            name: "other-container",
            id: "pve1/140",
            parent: "other",
            provider: "proxmox",
          },
        ],
      }),
    );
    expect(
      stack.pulumi("import", "--file", file, "--yes", "--skip-preview", "--generate-code=false"),
    ).toMatchObject({ status: 0 });
    expect(stack.previewedSteps().sort()).toEqual([
      "create other-attach",
      "create other-claim",
      "update other-container",
    ]);
    expect(stack.pulumi("preview", "--diff").output).toMatch(/cores *: 2 => 1\n/);
    stack.deploy();
    expect(config(140)).toContain("cores: 1\n");
    expect(config(140)).toContain("features: nesting=1,keyctl=1");
    expectUntouched();
    expectNoDrift();
  });

  it("is then like any other of the stack, also without adopt", () => {
    declare();
    expect(stack.previewedSteps()).toEqual(["update other-claim"]);
    stack.deploy();
    expectNoDrift();
    expectUntouched();
  });

  it("is free again after the container left the stack", () => {
    declare({ protect: false });
    stack.deploy();
    edit((all) => delete all.other);
    stack.deploy();
    expect(stack.tryOnHost("pct status 140").status).not.toBe(0);
    expect(stack.onHost("ls /etc/proxmox-gpu-stack/claims")).toBe("129");
  });

  it("keeps out an adoption that would lose a mount", () => {
    stack.onHost(
      `pct create 140 local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst --hostname byhand --cores 1 --memory 1024 --rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=${stack.subnet}.140/24,gw=${stack.subnet}.1 --unprivileged 1 >/dev/null 2>&1; mkdir -p /srv/data; pct set 140 --mp0 /srv/data,mp=/data`,
    );
    declare({ adopt: true });
    expect(refusal()).toContain(
      "container 140 has the mount /srv/data on /data, which the stack file does not declare",
    );
    expect(config(140)).toContain("mp0: /srv/data,mp=/data");
  });
});
