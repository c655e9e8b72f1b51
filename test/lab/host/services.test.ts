import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const network = resolve(__dirname, "../../../lab/network");

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** Whether the connection broke off before the body was complete. */
  broken: boolean;
}

/** Sends one request; `target` is what stands in the request line, for a proxy a whole URL. */
function ask(
  port: number,
  target: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Answer> {
  return new Promise((done, fail) => {
    const sent = request(
      { host: "127.0.0.1", port, path: target, method, headers },
      (answer: IncomingMessage) => {
        const chunks: Buffer[] = [];
        const finish = (broken: boolean): void => {
          done({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(chunks).toString(),
            broken,
          });
        };
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () => {
          finish(false);
        });
        answer.on("error", () => {
          finish(true);
        });
      },
    );
    sent.on("error", fail);
    sent.end();
  });
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.on("error", () => {
      done(false);
    });
  });

/** Starts one of the lab's servers on a free port of this machine. */
async function start(program: string, ...args: string[]): Promise<{ port: number; process: ChildProcess }> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => probe.once("listening", done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  const server = spawn(join(network, program), ["127.0.0.1", String(port), ...args], { stdio: "ignore" });
  for (let attempt = 0; attempt < 100 && !(await accepts(port)); attempt++) {
    await new Promise((done) => setTimeout(done, 50));
  }
  return { port, process: server };
}

describe("the apt relay", () => {
  const folder = mkdtempSync(join(tmpdir(), "apt-relay-test-"));
  const packagePath = "/debian/pool/main/h/hello/hello_2.10-3_amd64.deb";
  const listPath = "/debian/dists/bookworm/InRelease";
  let mirror: Server;
  let origin: string;
  let relay: { port: number; process: ChildProcess };
  let asked: string[] = [];
  let cutAfter: number | undefined;

  const startMirror = async (port: number): Promise<void> => {
    mirror = createServer((incoming, answer) => {
      asked.push(`${incoming.method ?? ""} ${incoming.url ?? ""}`);
      if (incoming.url === "/debian/missing") {
        answer.writeHead(404, { "content-length": 0 }).end();
        return;
      }
      if (incoming.headers["if-modified-since"] !== undefined) {
        answer.writeHead(304).end();
        return;
      }
      const body = `content of ${incoming.url ?? ""}`;
      answer.writeHead(200, { "content-length": body.length, etag: '"1"' });
      if (cutAfter !== undefined) {
        answer.write(body.slice(0, cutAfter));
        setTimeout(() => answer.destroy(), 100);
      } else {
        answer.end(incoming.method === "HEAD" ? undefined : body);
      }
    }).listen(port, "127.0.0.1");
    await new Promise((done) => mirror.once("listening", done));
  };
  const stopMirror = async (): Promise<void> => {
    mirror.closeAllConnections();
    await new Promise((done) => mirror.close(done));
  };

  beforeAll(async () => {
    await startMirror(0);
    origin = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
    relay = await start(
      "apt-relay",
      join(folder, "cache"),
      `${origin}/debian`,
      "http://another.invalid/debian",
    );
  });
  beforeEach(() => {
    asked = [];
    cutAfter = undefined;
  });
  afterAll(async () => {
    relay.process.kill();
    await stopMirror();
    rmSync(folder, { recursive: true });
  });

  test("fetches a package file once and then gives out the kept one", async () => {
    const first = await ask(relay.port, origin + packagePath);
    const second = await ask(relay.port, origin + packagePath);
    expect(first).toMatchObject({ status: 200, body: `content of ${packagePath}` });
    expect(second).toMatchObject({ status: 200, body: `content of ${packagePath}` });
    expect(second.headers["content-length"]).toBe(String(`content of ${packagePath}`.length));
    expect(asked).toEqual([`GET ${packagePath}`]);
  });

  test("asks the mirror again when the client says no-cache", async () => {
    await ask(relay.port, origin + packagePath, { "cache-control": "no-cache" });
    expect(asked).toEqual([`GET ${packagePath}`]);
  });

  test("fetches a kept file again when it was damaged", async () => {
    const kept = readdirSync(join(folder, "cache")).find((name) => name.endsWith(".deb"));
    writeFileSync(join(folder, "cache", kept ?? ""), "damaged");
    expect((await ask(relay.port, origin + packagePath)).body).toBe(`content of ${packagePath}`);
    expect(asked).toEqual([`GET ${packagePath}`]);
  });

  test("does not keep a file that arrived in part, and lets the client see that it did", async () => {
    cutAfter = 5;
    const path = packagePath.replace("hello_2", "hello_3");
    expect((await ask(relay.port, origin + path)).broken).toBe(true);
    cutAfter = undefined;
    expect((await ask(relay.port, origin + path)).body).toBe(`content of ${path}`);
    // The client has its answer a moment before the relay has put the file into its place.
    const unfinished = () => readdirSync(join(folder, "cache")).filter((name) => name.startsWith(".new-"));
    for (let attempt = 0; attempt < 100 && unfinished().length > 0; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(unfinished()).toEqual([]);
  });

  test("always asks the mirror for package lists, and passes on what it answers", async () => {
    await ask(relay.port, origin + listPath);
    expect((await ask(relay.port, origin + listPath)).body).toBe(`content of ${listPath}`);
    expect(asked).toEqual([`GET ${listPath}`, `GET ${listPath}`]);
    const conditional = { "if-modified-since": "Sat, 01 Jan 2022 00:00:00 GMT" };
    expect((await ask(relay.port, origin + listPath, conditional)).status).toBe(304);
    expect((await ask(relay.port, `${origin}/debian/missing`)).status).toBe(404);
    expect(await ask(relay.port, origin + listPath, {}, "HEAD")).toMatchObject({ status: 200, body: "" });
  });

  test("reaches no other host", async () => {
    const answer = await ask(relay.port, "http://127.0.0.1:1/debian/pool/x.deb");
    expect(answer.status).toBe(403);
    expect(asked).toEqual([]);
  });

  test("without the mirror, kept packages still come and everything else is an honest 502", async () => {
    const { port } = mirror.address() as AddressInfo;
    await stopMirror();
    expect((await ask(relay.port, origin + packagePath)).body).toBe(`content of ${packagePath}`);
    const list = await ask(relay.port, origin + listPath);
    expect(list.status).toBe(502);
    expect(list.body).toContain("cannot be reached from this machine");
    await startMirror(port);
  });
});

describe("the file server", () => {
  const folder = mkdtempSync(join(tmpdir(), "file-server-test-"));
  let server: { port: number; process: ChildProcess };

  beforeAll(async () => {
    mkdirSync(join(folder, "www/nvidia"), { recursive: true });
    writeFileSync(join(folder, "www/nvidia/driver.run"), "0123456789");
    writeFileSync(join(folder, "secret"), "secret");
    server = await start("file-server", join(folder, "www"));
  });
  afterAll(() => {
    server.process.kill();
    rmSync(folder, { recursive: true });
  });

  test("gives a file whole, its head, and parts of it", async () => {
    const path = "/nvidia/driver.run";
    const whole = await ask(server.port, path);
    expect(whole).toMatchObject({ status: 200, body: "0123456789" });
    expect(await ask(server.port, path, {}, "HEAD")).toMatchObject({ status: 200, body: "" });
    const rest = await ask(server.port, path, { range: "bytes=4-" });
    expect(rest).toMatchObject({ status: 206, body: "456789" });
    expect(rest.headers["content-range"]).toBe("bytes 4-9/10");
    expect((await ask(server.port, path, { range: "bytes=2-3" })).body).toBe("23");
    expect((await ask(server.port, path, { range: "bytes=-3" })).body).toBe("789");
    expect((await ask(server.port, path, { range: "bytes=10-" })).status).toBe(416);
    const other = { range: "bytes=4-", "if-range": '"another"' };
    expect(await ask(server.port, path, other)).toMatchObject({ status: 200, body: "0123456789" });
    const same = { range: "bytes=4-", "if-range": whole.headers.etag ?? "" };
    expect((await ask(server.port, path, same)).status).toBe(206);
  });

  test("can be told to be late and to break off", async () => {
    const before = Date.now();
    await ask(server.port, "/nvidia/driver.run?slow=0.3");
    expect(Date.now() - before).toBeGreaterThanOrEqual(300);
    expect(await ask(server.port, "/nvidia/driver.run?cut=4")).toMatchObject({ body: "0123", broken: true });
  });

  test.each(["/nvidia/other.run", "/../secret", "/%2e%2e/secret", "/nvidia"])("has no %s", async (path) => {
    expect((await ask(server.port, path)).status).toBe(404);
  });
});
