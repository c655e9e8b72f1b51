import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parse } from "yaml";

import { record, withoutSecrets, type Registered } from "./harness";

const PROJECT = join(__dirname, "..", "..");
const TOKEN = "root@pam!iac=aaaaaaaa-2222-3333-4444-555555555555";
const SECRETS = {
  "proxmox-gpu-stack:apiToken": TOKEN,
  "proxmox-gpu-stack:sshPrivateKey":
    "-----BEGIN OPENSSH PRIVATE KEY-----\nMARKED-PRIVATE-KEY\n-----END OPENSSH PRIVATE KEY-----\n",
  "proxmox-gpu-stack:huggingFaceToken": "MARKED-HUB-TOKEN",
  "proxmox-gpu-stack:serviceApiKey": "MARKED-SERVICE-KEY",
};

/** The example stack file as Pulumi hands it to a program: structures as JSON text, secrets as values. */
function exampleConfiguration(change: (config: Record<string, unknown>) => void = () => undefined) {
  const file = parse(readFileSync(join(PROJECT, "Pulumi.example.yaml"), "utf8")) as {
    config: Record<string, unknown>;
  };
  const config = Object.fromEntries(
    Object.entries(file.config).filter(
      ([key]) => !/:(apiPassword|apiToken|sshPrivateKey|huggingFaceToken|serviceApiKey)$/.test(key),
    ),
  );
  // The example reads this checksum from a file that every user makes.
  const containers = config["proxmox-gpu-stack:containers"] as Record<
    string,
    { template: { sha256: string } }
  >;
  for (const container of Object.values(containers)) container.template.sha256 = "0".repeat(64);
  change(config);
  return {
    ...Object.fromEntries(Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)])),
    ...SECRETS,
  };
}

function run({
  change,
  ...options
}: { preview?: boolean; macAddress?: string; change?: (config: Record<string, unknown>) => void } = {}) {
  return record(
    exampleConfiguration(change),
    Object.keys(SECRETS),
    () => {
      jest.isolateModules(() => {
        jest.requireActual("../../index");
      });
    },
    { stack: "example", ...options },
  );
}

const COMPONENT = /^proxmox-gpu-stack:index:/;
const STEP = "command:remote:Command";
const CONTAINER = "proxmoxve:index/containerLegacy:ContainerLegacy";
const nameOf = (urn: string) => urn.split("::").at(-1) ?? "";

// Loading the program and the SDKs takes longer than five seconds on a busy machine.
jest.setTimeout(60_000);

let resources: Registered[];
beforeAll(async () => {
  resources = await run();
});

const steps = () => resources.filter((resource) => resource.type === STEP);
const containers = () => resources.filter((resource) => resource.type === CONTAINER);

describe("the resources of a stack", () => {
  it("are the same in a preview and in an update", async () => {
    const list = (found: readonly Registered[]) => found.map(({ type, name }) => `${type} ${name}`).sort();
    expect(list(await run({ preview: true }))).toEqual(list(resources));
  });

  it("have the same names and types on a host that was installed anew: other keys, cards and addresses", async () => {
    const anew = await run({
      change: (config) => {
        Object.assign(config["proxmox-gpu-stack:host"] as object, {
          node: "pve9",
          address: "192.0.2.99",
          hostKey: "insecure",
        });
        const gpus = config["proxmox-gpu-stack:gpus"] as Record<string, { uuid?: string; pci?: string }>;
        Object.values(gpus).forEach((gpu, index) => {
          if (gpu.pci === undefined) gpu.uuid = `GPU-99999999-0000-0000-0000-00000000000${index}`;
          else gpu.pci = "0000:c1:00.0";
        });
        const containers = config["proxmox-gpu-stack:containers"] as Record<string, { network: object }>;
        for (const { network } of Object.values(containers))
          Object.assign(network, { gateway: "192.0.2.254" });
      },
    });
    const list = (found: readonly Registered[]) =>
      found.map(({ type, name, parent }) => `${type} ${name} in ${parent}`).sort();
    expect(list(anew)).toEqual(list(resources));
    expect(JSON.stringify(anew)).toContain("192.0.2.99");
  });

  it("have component tokens that never change", () => {
    const tokens = [
      ...new Set(resources.map(({ type }) => type).filter((type) => COMPONENT.test(type))),
    ].sort();
    expect(tokens).toEqual([
      "proxmox-gpu-stack:index:CudaToolkit",
      "proxmox-gpu-stack:index:GpuContainer",
      "proxmox-gpu-stack:index:InferenceService",
      "proxmox-gpu-stack:index:MlEnv",
      "proxmox-gpu-stack:index:ModelSnapshot",
      "proxmox-gpu-stack:index:NvidiaDriver",
      "proxmox-gpu-stack:index:Wheelhouse",
    ]);
  });

  it("have parents: only components, the provider and templates stand at the top", () => {
    const top = resources.filter(
      ({ parent, type }) => !parent.includes("proxmox-gpu-stack:index:") && !COMPONENT.test(type),
    );
    expect([...new Set(top.map(({ type }) => type))].sort()).toEqual([
      "proxmoxve:download/file:File",
      "pulumi:providers:proxmoxve",
    ]);
  });

  it("are named <parent>-<role> below a component", () => {
    const children = resources.filter(({ parent }) => parent.includes("proxmox-gpu-stack:index:"));
    expect(children.length).toBeGreaterThan(5);
    for (const child of children) expect(child.name).toMatch(new RegExp(`^${nameOf(child.parent)}-`));
  });

  it("show no secret outside a secret envelope", () => {
    const open = JSON.stringify(resources.map(({ inputs }) => withoutSecrets(inputs)));
    const marks = [TOKEN, "MARKED-PRIVATE-KEY", "MARKED-HUB-TOKEN", "MARKED-SERVICE-KEY"];
    for (const mark of marks) expect(open).not.toContain(mark);
    // The envelopes are there: the check above looks at something.
    const all = JSON.stringify(resources.map(({ inputs }) => inputs));
    for (const mark of marks) expect(all).toContain(mark);
  });
});

describe("every step", () => {
  it("is one readable line with the script on standard input, which no diff shows", () => {
    expect(steps().length).toBeGreaterThan(8);
    for (const { inputs, hideDiffs } of steps()) {
      expect(inputs.create).toMatch(/^(bash -s|pct exec \d+ --keep-env 0 -- bash -s) -- [a-z0-9-]+( \S+=|$)/);
      expect(inputs.create).not.toContain("\n");
      expect(JSON.stringify(inputs.stdin)).toContain("step_main");
      expect(hideDiffs).toEqual(["stdin"]);
    }
  });

  it("has no triggers, hands no earlier output over, and has its own time limit", () => {
    for (const { inputs, timeouts } of steps()) {
      expect(inputs).not.toHaveProperty("triggers");
      expect(inputs.addPreviousOutputInEnv).toBe(false);
      expect(timeouts.create).toMatch(/^\d+m$/);
      expect(timeouts.update).toBe(timeouts.create);
    }
  });

  it("in a container goes with it, so that destroying the container dials nothing", () => {
    // A claim is the host's: it is there before the container and goes after it.
    const inside = steps().filter(({ name }) => !/^driver-|-(snapshot|claim)$|^wheelhouse-/.test(name));
    expect(inside.length).toBeGreaterThan(3);
    const urns = containers().map(({ name }) => name);
    for (const step of inside) expect(urns).toContain(nameOf(step.deletedWith));
  });

  it("of a container, and no other, differs in a container that was made anew", async () => {
    const anew = new Map(
      (await run({ macAddress: "BC:24:11:00:00:02" })).map(({ name, inputs }) => [name, inputs]),
    );
    for (const { name, inputs, deletedWith } of steps()) {
      const again = anew.get(name);
      expect(again?.create).toBe(inputs.create);
      if (deletedWith === "") expect(again).toEqual(inputs);
      else expect(again?.stdin).not.toEqual(inputs.stdin);
    }
  });

  it("that follows a reboot dials without end; the others give up", () => {
    for (const { name, inputs } of steps()) {
      expect(JSON.stringify(inputs.connection)).toContain(
        `"dialErrorLimit":${/-ready$/.test(name) ? -1 : 10},`,
      );
    }
  });
});

describe("a container", () => {
  it("is protected, deleted before it is replaced, and named by a literal template id", () => {
    expect(containers().length).toBeGreaterThan(0);
    for (const { protect, deleteBeforeReplace, inputs } of containers()) {
      expect(protect).toBe(true);
      expect(deleteBeforeReplace).toBe(true);
      expect(inputs.operatingSystem).toEqual({
        templateFileId: expect.stringMatching(/^[a-z-]+:vztmpl\/[^/]+\.tar\.zst$/) as string,
        type: "debian",
      });
    }
  });

  it("leaves alone what the provider would destroy or break it for (traps T1, T3, T4, T6)", () => {
    for (const { ignoreChanges, inputs } of containers()) {
      expect(ignoreChanges).toEqual([
        "operatingSystem.templateFileId",
        "initialization.userAccount",
        "mountPoints",
        "devicePassthroughs",
        "features",
        "started",
        "console",
        "cpu.limit",
        "cpu.units",
        "networkInterfaces[0].firewall",
        "networkInterfaces[0].mtu",
        "networkInterfaces[0].rateLimit",
        "networkInterfaces[0].vlanId",
        "initialization.ipConfigs[0].ipv6",
      ]);
      for (const left of ["mountPoints", "devicePassthroughs", "features"])
        expect(inputs).not.toHaveProperty(left);
    }
  });

  it("can be taken away when its owner says protect: false", async () => {
    const unprotected = await run({
      change: (config) => {
        const all = config["proxmox-gpu-stack:containers"] as Record<string, { protect?: boolean }>;
        for (const container of Object.values(all)) container.protect = false;
      },
    });
    const found = unprotected.filter(({ type }) => type === CONTAINER);
    expect(found.length).toBeGreaterThan(0);
    for (const { protect } of found) expect(protect).toBe(false);
  });

  it("is made when no reboot is due and its id is claimed, and started when the cards are there", () => {
    for (const { name, dependsOn } of containers()) {
      expect(dependsOn.map(nameOf)).toContain("driver-ready");
      expect(dependsOn.map(nameOf)).toContain(name.replace(/-container$/, "-claim"));
      const attach = resources.find((other) => other.name === name.replace(/-container$/, "-attach"));
      expect(attach?.dependsOn.map(nameOf).sort()).toEqual(["driver-gpu-boot", name].sort());
    }
  });

  it("is made from a template that outlives the stack", () => {
    const templates = resources.filter(({ type }) => type === "proxmoxve:download/file:File");
    for (const { retainOnDelete, inputs } of templates) {
      expect(retainOnDelete).toBe(true);
      expect(inputs.overwrite).toBe(false);
      expect(inputs.checksumAlgorithm).toBe("sha256");
    }
  });
});

describe("steps of the driver", () => {
  it("run one after the other, because a reboot may lie between any two", () => {
    const order = [
      "driver-kernel",
      "driver-kernel-ready",
      "driver-install",
      "driver-ready",
      "driver-gpu-boot",
    ];
    for (const [i, name] of order.entries()) {
      const step = steps().find((candidate) => candidate.name === name);
      const before = i === 0 ? [] : [order[i - 1]];
      expect(step?.dependsOn.map(nameOf)).toEqual(before);
    }
  });
});

describe("a service", () => {
  it("waits for its environment and its model", () => {
    const services = steps().filter(({ name }) => name.endsWith("-service") && name !== "front-service");
    expect(services.length).toBeGreaterThan(0);
    for (const { dependsOn } of services) {
      const names = dependsOn.map(nameOf);
      expect(names.some((name) => name.endsWith("-environment"))).toBe(true);
      expect(names.some((name) => name.endsWith("-snapshot"))).toBe(true);
    }
  });
});

describe("a router", () => {
  it("waits for its environment and for the replicas of its stack", () => {
    const router = steps().find(({ name }) => name === "front-service");
    expect(router?.dependsOn.map(nameOf).sort()).toEqual([
      "ml-container",
      "qwen-service",
      "router-env-environment",
    ]);
  });
});
