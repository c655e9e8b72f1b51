/** The real router of SGLang in front of two replicas, each in a container of its own. */
import { ask, request } from "./lab-stack";
import { usePreparedLab } from "./deployed-lab";
import { declareRouter } from "./router";
import { useTwoContainers } from "./two-containers";

const KEY = "lab-key-of-the-replicas";
const WORKERS = "curl --silent --fail http://127.0.0.1:8000/workers";

const stack = usePreparedLab();
const front = () => stack.endpoint(8000);

beforeAll(() => {
  useTwoContainers(stack, { qwen: {}, twin: { environment: "second-env" } });
  declareRouter(stack, { replicas: ["qwen", "twin"], policy: "round_robin", startTimeoutMinutes: 1 });
  stack.deploy();
});

/** Whether the router counts the replica of the second container in. */
const twinTakesPart = (wanted: boolean) =>
  stack.until(
    `pct exec 129 -- ${WORKERS}`,
    new RegExp(`"url":"http://${stack.subnet}\\.130:30000"[^}]*"is_healthy":${wanted}`),
  );

const probeState = () => {
  stack.tryOnHost("pct exec 129 -- systemctl start sglang-front-probe.service");
  return (
    JSON.parse(stack.inContainer("cat /var/lib/proxmox-gpu-stack/probe/front.json")) as { state: string }
  ).state;
};

async function expectAnswers(count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    expect(await ask(front(), `What is ${index} and 2?`)).toMatch(new RegExp(`\\b${index + 2}\\b`));
}

describe("a router in front of two replicas", () => {
  it("answers with both, and is an endpoint of the stack", async () => {
    await expectAnswers(4);
    expect(stack.outputs()["endpoints"]).toMatchObject({ front: front() });
    for (const id of [129, 130])
      expect(
        stack.onHost(
          `pct exec ${id} -- journalctl --no-pager -o cat -u 'sglang-*' | grep -c 'POST /v1/chat'`,
        ),
      ).toMatch(/^[1-9]/);
    expect(probeState()).toBe("healthy");
  });

  it("changes nothing at the next up", () => {
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("tells Prometheus which replicas take part", () => {
    const metrics = stack.inContainer("curl --silent http://127.0.0.1:29000/metrics");
    expect(metrics.match(/^smg_worker_health\{.*\} 1$/gm)).toHaveLength(2);
  });
});

describe("a replica that is stopped", () => {
  it("is answered for by the other one, from the first request on", async () => {
    stack.onHost("pct exec 130 -- systemctl stop sglang-twin.service");
    await expectAnswers(4);
    await twinTakesPart(false);
    await expectAnswers(2);
  });

  it("makes the router's probe say degraded, and the next up change nothing", () => {
    expect(probeState()).toBe("degraded");
    expect(stack.pulumi("up", "--yes", "--skip-preview", "--expect-no-changes")).toMatchObject({ status: 0 });
  });

  it("takes part again once it runs", async () => {
    stack.onHost("pct exec 130 -- systemctl start sglang-twin.service");
    await twinTakesPart(true);
    expect(probeState()).toBe("healthy");
  });
});

describe("a change that does not pass the router's gate", () => {
  it("is rolled back: the router serves with the replicas that it had", async () => {
    const replicas = (list: string[]) => {
      stack.edit((file) =>
        Object.assign((file.routers as Record<string, object>)["front"] ?? {}, { replicas: list }),
      );
    };
    replicas(["qwen", "twin", `http://${stack.subnet}.131:30000`]);
    const { status, output } = stack.pulumi("up", "--yes", "--skip-preview");
    expect(status).not.toBe(0);
    expect(output).toContain(`http://${stack.subnet}.131:30000 was not found yet`);
    expect(output).toContain("the last good version serves again");
    await expectAnswers(2);
    replicas(["qwen", "twin"]);
    stack.deploy();
  });
});

describe("an API key", () => {
  const status = async (key?: string) => {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    };
    const body = JSON.stringify({
      model: "qwen3.6-tiny",
      messages: [{ role: "user", content: "What is 2 and 2?" }],
    });
    return (await request(`${front()}/v1/chat/completions`, { method: "POST", headers, body })).status;
  };

  it("is asked of clients, passes the gate, and is on no command line", async () => {
    stack.edit((file) => Object.assign(file, { serviceApiKey: KEY }));
    stack.deploy();
    expect([await status(), await status("another"), await status(KEY)]).toEqual([401, 401, 200]);
    expect(stack.onHost("pct exec 129 -- sh -c 'cat /proc/[0-9]*/cmdline' | tr '\\0' ' '")).not.toContain(
      KEY,
    );
    expect((await request(`${front()}/workers`)).status).toBe(401);
  });
});
