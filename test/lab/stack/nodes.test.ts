/** One server over two containers: how the parts come together, and come together again. */
import { ask, request } from "./lab-stack";
import { usePreparedLab } from "./deployed-lab";
import { useTwoContainers } from "./two-containers";

const stack = usePreparedLab();

beforeAll(() => {
  const group = { count: 2, address: `${stack.subnet}.129` };
  useTwoContainers(stack, {
    big: { nodes: { ...group, rank: 0 } },
    "big-1": { environment: "second-env", nodes: { ...group, rank: 1 } },
  });
});

const inSecond = (line: string) => stack.tryOnHost(`pct exec 130 -- ${line}`).output;
const expectCorrectAnswer = async () => {
  expect(await ask(stack.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
};

describe("a server over two containers", () => {
  it("has its rank 1 up and waiting before rank 0 is there", () => {
    const { output } = stack.deploy("--exclude", "**big-service");
    expect(output).toContain("rank 1 of 2 waits at");
    expect(output).toContain("rank 0's stack needs its `up` now");
    expect(inSecond("curl --silent --show-error http://127.0.0.1:30000/health")).toMatch(/refused|connect/i);
  });

  it("is held to right answers by the gate of rank 0, which is the only endpoint", async () => {
    const { output } = stack.deploy();
    expect(output).toContain("it needs the other 1 of 2 nodes");
    await expectCorrectAnswer();
    expect(stack.outputs()["endpoints"]).toEqual({ big: stack.endpoint() });
    const address = `http://${stack.subnet}.130:30000`;
    expect((await request(`${address}/health`)).status).toBe(200);
    expect((await request(`${address}/v1/models`)).status).toBe(404);
  });

  it("changes nothing at the next up", () => {
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("has probes that know which part they look at", () => {
    stack.inContainer("systemctl start sglang-big-probe.service");
    stack.onHost("pct exec 130 -- systemctl start sglang-big-1-probe.service");
    expect(stack.inContainer("cat /var/lib/proxmox-gpu-stack/probe/big.json")).toContain(
      '"state": "healthy"',
    );
    expect(inSecond("cat /var/lib/proxmox-gpu-stack/probe/big-1.json")).toContain('"state": "healthy"');
  });
});

describe("a part that dies", () => {
  const restarts = (id: number, unit: string) =>
    Number(stack.onHost(`pct exec ${id} -- systemctl show --value --property=NRestarts ${unit}`));

  it.each([
    ["rank 1", 130, "sglang-big-1.service"],
    ["rank 0", 129, "sglang-big.service"],
  ])("takes the group down, and the group comes together again by itself: %s", async (_, id, unit) => {
    const before = [restarts(129, "sglang-big.service"), restarts(130, "sglang-big-1.service")];
    stack.onHost(`pct exec ${id} -- systemctl kill --signal=KILL ${unit}`);
    await stack.until(
      "pct exec 129 -- systemctl show --value --property=NRestarts sglang-big.service",
      new RegExp(`^${(before[0] ?? 0) + 1}$`, "m"),
    );
    stack.untilHealthy();
    await expectCorrectAnswer();
    expect(restarts(130, "sglang-big-1.service")).toBeGreaterThan(before[1] ?? 0);
  });
});
