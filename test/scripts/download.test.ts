import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "download-"));
  ranges = [];
  answer = CONTENT;
  stalls = false;
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    response.writeHead(
      start > 0 ? 206 : 200,
      start > 0 ? { "content-range": `bytes ${start}-${answer.length - 1}/${answer.length}` } : {},
    );
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
