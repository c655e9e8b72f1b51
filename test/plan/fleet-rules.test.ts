/** The parts of one server in two stacks, made from Pulumi.example.yaml. */
import path from "node:path";

import { loadStackFile, PROJECT_DIRECTORY } from "../../config/load";
import type { ResolvedService, StackConfig } from "../../config/schema";
import { groupProblems, type PlannedStack } from "../../plan/fleet-rules";
import { renderStack } from "../../plan/render/stack";
import { planStack } from "../../plan/stack";

const example = loadStackFile(path.join(PROJECT_DIRECTORY, "Pulumi.example.yaml"));
const ADDRESS = "192.0.2.129";

function part(
  rank: number,
  changes: Partial<ResolvedService> = {},
  more: Partial<StackConfig> = {},
): PlannedStack {
  const qwen = example.services["qwen"];
  const ml = example.containers["ml"];
  if (qwen === undefined || ml === undefined) throw new Error("the example has changed");
  const address = rank === 0 ? `${ADDRESS}/24` : `192.0.2.${140 + rank}/24`;
  const config: StackConfig = {
    ...example,
    containers: { ml: { ...ml, network: { ...ml.network, address } } },
    services: {
      qwen: {
        ...qwen,
        tensorParallel: 4,
        nodes: { count: 2, rank, address: ADDRESS, port: 20000 },
        ...changes,
      },
    },
    routers: {},
    ...more,
  };
  return { name: rank === 0 ? "left" : "right", config, plan: planStack(config, PROJECT_DIRECTORY) };
}

const service = ({ plan }: PlannedStack) => {
  const [found] = plan.services;
  if (found === undefined) throw new Error("no service was planned");
  return found;
};
const unit = (stack: PlannedStack) =>
  service(stack).step.texts["/etc/systemd/system/sglang-qwen.service"] ?? "";

describe("one part", () => {
  test("states its group to SGLang and waits as long as loading may take", () => {
    expect(service(part(1)).plan.args.join(" ")).toContain(
      `--tp-size 4 --nnodes 2 --node-rank 1 --dist-init-addr ${ADDRESS}:20000 --dist-timeout 1800 `,
    );
  });

  test("needs the memory of its share: all cards of the group divide the model", () => {
    const alone = planStack(
      {
        ...example,
        services: { qwen: { ...service(part(0)).service, tensorParallel: 2, nodes: undefined } },
      },
      PROJECT_DIRECTORY,
    ).services[0]?.plan.memory;
    const shared = service(part(0)).plan.memory;
    expect((alone?.weights ?? 0) / (shared?.weights ?? 1)).toBeCloseTo(2, 1);
  });

  test("is reached by the container's own address, whatever its host name means", () => {
    expect(service(part(1)).plan.env).toMatchObject({
      GLOO_SOCKET_IFNAME: "eth0",
      NCCL_SOCKET_IFNAME: "eth0",
      SGLANG_HOST_IP: "192.0.2.141",
    });
    expect(service(part(1, { env: { NCCL_SOCKET_IFNAME: "ib0" } })).plan.env["NCCL_SOCKET_IFNAME"]).toBe(
      "ib0",
    );
  });

  test("comes again whenever the group falls apart, without a limit", () => {
    expect(unit(part(0))).toMatch(/^Restart=always$/m);
    expect(unit(part(0))).toMatch(/^StartLimitIntervalSec=0$/m);
    expect(unit(part(0))).not.toContain("StartLimitBurst");
  });

  test("tells its gate which part it is", () => {
    const text = service(part(1)).step.texts["/etc/proxmox-gpu-stack/services/qwen/specification.json"] ?? "";
    expect(JSON.parse(text)).toMatchObject({ node: { rank: 1, count: 2, meets: `${ADDRESS}:20000` } });
  });

  test("is shown with its place and where the group meets", () => {
    const { config, plan } = part(1);
    const topology = renderStack(config, plan)["topology.md"];
    expect(topology).toContain(`meeting0["${ADDRESS}:20000<br/>nodes meet"]`);
    expect(topology).toContain("service0 ---|meets| meeting0");
    expect(topology).toContain(`rank 1 of 2 nodes, which meet at ${ADDRESS}:20000`);
  });
});

describe("two parts", () => {
  const between = (left: PlannedStack, right: PlannedStack) =>
    groupProblems([left, right]).map(({ id, path: where }) => `${id} ${where}`);
  const RIGHT = "right: proxmox-gpu-stack:services.qwen";

  test("that belong together have no problems", () => {
    expect(groupProblems([part(0), part(1)])).toEqual([]);
  });

  test("stacks without parts have none either, and other groups are left alone", () => {
    const alone = { name: "left", config: example, plan: planStack(example, PROJECT_DIRECTORY) };
    expect(groupProblems([alone])).toEqual([]);
    const other = part(1, {
      nodes: { count: 2, rank: 1, address: ADDRESS, port: 20001 },
      servedModelName: "x",
    });
    expect(between(part(0), other).every((text) => text.startsWith("node-missing"))).toBe(true);
  });

  test("one of them alone is told which rank is missing", () => {
    expect(groupProblems([part(0)])).toMatchObject([
      {
        id: "node-missing",
        severity: "warning",
        message: expect.stringContaining("rank 1 is in none") as string,
      },
    ]);
  });

  test("with one rank are refused", () => {
    expect(between(part(0), { ...part(0), name: "right" })).toContain(`node-rank-twice ${RIGHT}.nodes.rank`);
  });

  test.each<[string, Partial<ResolvedService>, string]>([
    ["tensor parallelism", { tensorParallel: 2 }, "nodes"],
    ["names of the model", { servedModelName: "another" }, "nodes"],
    ["contexts", { contextLength: 16384 }, "nodes"],
    ["time limits", { startTimeoutMinutes: 60 }, "nodes"],
    ["variables", { env: { NCCL_IB_DISABLE: "1" } }, "env.NCCL_IB_DISABLE"],
    ["whether it runs", { enabled: false }, "enabled"],
  ])("with different %s are refused", (_, changes, field) => {
    expect(between(part(0), part(1, changes))).toContain(`nodes-differ ${RIGHT}.${field}`);
  });

  test("with different commits of the model, or environments, are refused", () => {
    const models = {
      qwen36: { ...example.models["qwen36"], revision: "c".repeat(40) },
    } as StackConfig["models"];
    expect(between(part(0), part(1, {}, { models }))).toEqual([`nodes-differ ${RIGHT}.model`]);
    const environments = {
      ...example.environments,
      "ml-env": { ...example.environments["ml-env"], python: "3.12" },
    } as StackConfig["environments"];
    expect(between(part(0), part(1, {}, { environments }))).toEqual([`nodes-differ ${RIGHT}.environment`]);
  });

  test("may differ in where the model lies and in the port", () => {
    expect(between(part(0), part(1, { modelPath: "/data/qwen", port: 31000 }))).toEqual([]);
  });
});
