/** The rendered scrape file in a real Prometheus, which scrapes the lab's service. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PROJECT, request } from "./lab-stack";
import { useDeployedLab } from "./deployed-lab";

const stack = useDeployedLab();
const folder = mkdtempSync(join(tmpdir(), "monitoring-"));
let prometheus: ChildProcess | undefined;
let address = "";
let log = "";

/** A port of the loopback device that nobody has. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** Asks until something is there, at most a minute: the first scrape comes within 15 seconds. */
async function query(expression: string): Promise<readonly Sample[]> {
  const url = `${address}/api/v1/query?query=${encodeURIComponent(expression)}`;
  for (let tries = 0; tries < 60; tries++) {
    const answer = await request(url).catch(() => undefined);
    const body = (await answer?.json().catch(() => undefined)) as
      { data?: { result: readonly Sample[] } } | undefined;
    if (body?.data !== undefined && body.data.result.length > 0) return body.data.result;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error(`Prometheus knows nothing of ${expression}\n${log}`);
}

beforeAll(async () => {
  // Prometheus itself comes with promtool, in Debian's package prometheus.
  const need = spawnSync("test/need", ["prometheus"], { cwd: PROJECT, encoding: "utf8" });
  if (need.status !== 0) throw new Error(need.stderr);
  const file = join(stack.folder, "Pulumi.test.yaml");
  const rendered = join(folder, "rendered");
  const render = spawnSync("./stack", ["render", file, "--out", rendered], {
    cwd: PROJECT,
    encoding: "utf8",
  });
  if (render.status !== 0) throw new Error(render.stderr);
  const files = join(rendered, "monitoring");
  cpSync(files, folder, { recursive: true });
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  prometheus = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  prometheus.stderr?.on("data", (text: Buffer) => (log += text.toString()));
});

afterAll(async () => {
  if (prometheus !== undefined && prometheus.exitCode === null) {
    const ended = new Promise((resolve) => prometheus?.once("exit", resolve));
    prometheus.kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

test("Prometheus reaches the service, and tells which one it is", async () => {
  const [sample] = await query('up{job="sglang-test"}');
  expect(sample?.metric).toMatchObject({ stack: "test", host: "pve1", container: "ml", service: "qwen" });
  expect((await query('up{job="sglang-test"} == 1')).length).toBe(1);
});

test("SGLang's own metrics are there under the names that alerts and dashboard use", async () => {
  for (const name of ["num_queue_reqs", "num_running_reqs", "token_usage", "spec_accept_length"]) {
    const [sample] = await query(`sglang:${name}{stack="test",service="qwen"}`);
    expect(sample?.metric["model_name"]).toBe("qwen3.6-tiny");
  }
});

test("the probe's textfile in the container passes promtool and names the environment that runs", () => {
  stack.inContainer("systemctl start sglang-qwen-probe.service");
  const text = stack.inContainer("cat /var/lib/proxmox-gpu-stack/probe/qwen.prom");
  const checked = spawnSync("promtool", ["check", "metrics"], { input: `${text}\n`, encoding: "utf8" });
  expect(checked.stdout + checked.stderr).toBe("");
  const digest = stack.inContainer("readlink /opt/ml-env").split("/").at(-1) ?? "";
  expect(digest).toMatch(/^[0-9a-f]{12}$/);
  expect(text).toContain(`proxmox_gpu_stack_environment_info{service="qwen",environment="${digest}"`);
  expect(text).toMatch(/sglang_probe_state\{.*state="healthy"\} 1/);
});

test("the alerts are loaded by the same Prometheus's rule checker", () => {
  const file = join(folder, "alerts.yaml");
  expect(readFileSync(file, "utf8")).toContain('job="sglang-test"');
  expect(spawnSync("promtool", ["check", "rules", "--lint-fatal", file]).status).toBe(0);
});
