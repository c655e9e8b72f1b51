import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const serve = join(__dirname, "..", "..", "lab", "hub", "serve");

/** A stack pins these revisions: a change of the generated contents would break every stack of the lab. */
const COMMITS = {
  "lab/qwen3.6-tiny": "94ac6c0143eefcb6e8e108fb472487647514c3a3",
  "lab/gated-tiny": "a0a2edcf60ea372f7edbd0ba03fd0c23e81d780d",
  "lab/eagle3-draft-tiny": "b55ef7f3a548eee5d86b1a07c2ad1a4a08632c23",
};

test("the repositories and their commits are the ones that stacks pin", () => {
  const lines = spawnSync(serve, ["--list"], { encoding: "utf8" }).stdout.trim().split("\n");
  const main = lines.map((line) => line.split(" ")).filter((fields) => fields[3] === "main");
  expect(Object.fromEntries(main.map(([name, commit]) => [name, commit]))).toEqual(COMMITS);
});

test("an unknown repository is refused with the known ones", () => {
  const result = spawnSync(serve, ["--write", "lab/other", "/nowhere"], { encoding: "utf8" });
  expect(result.status).toBe(2);
  expect(result.stderr).toContain("there are lab/qwen3.6-tiny");
});

describe("a running hub", () => {
  let hub: ChildProcess;
  let base: string;

  beforeAll(async () => {
    hub = spawn(serve, ["127.0.0.1", "0"], { stdio: ["ignore", "pipe", "ignore"] });
    const stdout = hub.stdout as NodeJS.ReadableStream;
    base = /http:\S+/.exec(String((await once(stdout, "data"))[0]))?.[0] ?? "";
  }, 20_000);

  afterAll(async () => {
    hub.kill();
    await once(hub, "exit");
  });

  test("a snapshot's files arrive as listed, large ones by way of a redirect", async () => {
    const commit = COMMITS["lab/qwen3.6-tiny"];
    const info = await fetch(`${base}/api/models/lab/qwen3.6-tiny/revision/${commit}?blobs=true`);
    const { siblings } = (await info.json()) as {
      siblings: { rfilename: string; size: number; lfs?: object }[];
    };
    expect(siblings.filter((file) => file.lfs).length).toBe(3);
    for (const file of siblings) {
      const answer = await fetch(`${base}/lab/qwen3.6-tiny/resolve/${commit}/${file.rfilename}`);
      expect(answer.redirected).toBe(file.lfs !== undefined);
      expect((await answer.arrayBuffer()).byteLength).toBe(file.size);
    }
  });
});
