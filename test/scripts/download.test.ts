import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { scriptText } from "../../plan/script";

const CONTENT = Buffer.from("driver ".repeat(5000));
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");

let server: Server;
let folder: string;
let ranges: (string | undefined)[];
let answer: Buffer;
/** The first transfer stands still in its middle. */
let stalls: boolean;
/** So many transfers break off after a thousand bytes. */
let breaks: number;
/** After those it answers nothing any more. */
let vanishes: boolean;
/** Sends the whole to whoever asks for a part. */
let isWithoutRanges: boolean;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "download-"));
  ranges = [];
  answer = CONTENT;
  stalls = false;
  breaks = 0;
  vanishes = false;
  isWithoutRanges = false;
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    if (vanishes && breaks === 0) return void request.socket.destroy();
    const range = isWithoutRanges ? undefined : request.headers.range;
    const start = Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      "content-length": answer.length - start,
      ...(start > 0 ? { "content-range": `bytes ${start}-${answer.length - 1}/${answer.length}` } : {}),
    });
    if (breaks > 0) {
      breaks -= 1;
      return void response.write(answer.subarray(start, start + 1000), () => response.destroy());
    }
    if (stalls && ranges.length === 1) response.write(answer.subarray(0, 1000));
    else response.end(answer.subarray(start));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Runs `download` in a shell; the server above answers from this process, so nothing may block it. */
function download(sha256 = SHA256): Promise<{ status: number; stderr: string }> {
  const port = (server.address() as AddressInfo).port;
  const input = `set -euo pipefail
${scriptText("lib/step.sh")}
${scriptText("lib/download.sh")}
DOWNLOAD_SILENCE=1
download http://127.0.0.1:${port}/file ${folder}/kept/file ${sha256}`;
  return new Promise((resolve) => {
    const child = execFile("bash", ["-s"], (error, _stdout, stderr) => {
      resolve({ status: typeof error?.code === "number" ? error.code : 0, stderr });
    });
    child.stdin?.end(input);
  });
}

describe("a download", () => {
  it("gets its name only with the declared checksum, and is not fetched twice", async () => {
    expect((await download()).status).toBe(0);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
    expect((await download()).status).toBe(0);
    expect(ranges).toHaveLength(1);
  });

  it("goes on where an interrupted one stopped", async () => {
    await download();
    rmSync(join(folder, "kept/file"));
    writeFileSync(join(folder, "kept/file.partial"), CONTENT.subarray(0, 1000));
    expect((await download()).status).toBe(0);
    expect(ranges.at(-1)).toBe("bytes=1000-");
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("from a server that falls silent is tried again", async () => {
    stalls = true;
    expect((await download()).status).toBe(0);
    expect(ranges.length).toBeGreaterThan(1);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("that breaks off again and again goes on each time where it stopped", async () => {
    breaks = 3;
    expect((await download()).status).toBe(0);
    expect(ranges).toEqual([undefined, "bytes=1000-", "bytes=2000-", "bytes=3000-"]);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("from a server without ranges starts again, once", async () => {
    isWithoutRanges = true;
    mkdirSync(join(folder, "kept"));
    writeFileSync(join(folder, "kept/file.partial"), CONTENT.subarray(0, 1000));
    expect((await download()).status).toBe(0);
    expect(ranges).toEqual(["bytes=1000-", undefined]);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("that breaks off at a server without ranges starts again", async () => {
    [breaks, isWithoutRanges] = [1, true];
    expect((await download()).status).toBe(0);
    expect(ranges).toEqual([undefined, "bytes=1000-", undefined]);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("that cannot be completed keeps what came for the next run", async () => {
    [breaks, vanishes] = [1, true];
    const result = await download();
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("could not be downloaded");
    expect(result.stderr).toContain("what came is kept");
    expect(readFileSync(join(folder, "kept/file.partial"))).toEqual(CONTENT.subarray(0, 1000));
    vanishes = false;
    expect((await download()).status).toBe(0);
    expect(ranges.at(-1)).toBe("bytes=1000-");
  });

  it("that went on with what was left of another file is fetched whole before anybody is blamed", async () => {
    mkdirSync(join(folder, "kept"));
    writeFileSync(join(folder, "kept/file.partial"), "something else");
    const result = await download();
    expect(result.status).toBe(0);
    expect(result.stderr).toContain("what an earlier run left is of another file");
    expect(ranges).toEqual(["bytes=14-", undefined]);
    expect(readFileSync(join(folder, "kept/file"))).toEqual(CONTENT);
  });

  it("is thrown away when its content is another one, saying both checksums", async () => {
    answer = Buffer.from("something else");
    const result = await download();
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(createHash("sha256").update(answer).digest("hex"));
    expect(result.stderr).toContain(`declared is ${SHA256}`);
    expect(existsSync(join(folder, "kept/file"))).toBe(false);
    expect(existsSync(join(folder, "kept/file.partial"))).toBe(false);
  });
});
