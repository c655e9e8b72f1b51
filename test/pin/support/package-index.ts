/** A package index for tests, which can be as bad as real ones are. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** A wheel to be made: pure, with one module of the package's name. */
export interface ToyWheel {
  readonly name: string;
  readonly version: string;
  readonly requires?: readonly string[];
  /** Text of the module. */
  readonly code?: string;
  /** When it was uploaded. Default: 2026-01-01. */
  readonly uploaded?: string;
}

export interface IndexFile {
  readonly package: string;
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly body: Buffer;
  readonly uploaded: string;
}

/** How one request for a file goes wrong. */
export type Fault = { status: number; retryAfter?: number } | "cut" | "corrupt" | "slow" | undefined;

/** What was made already, by its description. */
const MADE = new Map<string, { folder: string; names: string[] }>();

function make(input: string): { folder: string; names: string[] } {
  const folder = mkdtempSync(path.join(tmpdir(), "wheels-"));
  const made = spawnSync("python3", [path.join(__dirname, "make-wheels.py"), folder], {
    input,
    encoding: "utf8",
  });
  if (made.status !== 0) throw new Error(made.stderr);
  return { folder, names: made.stdout.trim().split("\n") };
}

export class PackageIndex {
  /** What is offered; tests take away and add. */
  files: IndexFile[] = [];
  /** false: HTML without hashes and sizes, as nightly indexes have it. */
  tellsHashes = true;
  /** Decides about a request: name of the file, and how often it was asked for before. */
  fault: (name: string, earlier: number) => Fault = () => undefined;
  /** Whole or partial requests for files: "name" or "name bytes=10-". */
  readonly asked: string[] = [];
  /** The credentials that requests brought, as headers. */
  readonly credentials: string[] = [];
  private readonly server: Server = createServer((request, response) => this.answer(request, response));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/simple`;
  }

  /** Makes wheels and offers them. */
  offer(...wheels: ToyWheel[]): void {
    const input = JSON.stringify(wheels);
    const { folder, names } = MADE.get(input) ?? make(input);
    MADE.set(input, { folder, names });
    names.forEach((name, at) => {
      const body = readFileSync(path.join(folder, name));
      const sha256 = createHash("sha256").update(body).digest("hex");
      const { name: packageName, uploaded = "2026-01-01T00:00:00Z" } = wheels[at] as ToyWheel;
      this.files.push({ package: packageName, name, sha256, bytes: body.length, body, uploaded });
    });
  }

  /** The only file of a package. */
  file(packageName: string): IndexFile {
    return this.files.find((file) => file.package === packageName) as IndexFile;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers.authorization !== undefined) this.credentials.push(request.headers.authorization);
    const [, area, ...rest] = decodeURIComponent(request.url ?? "").split("/");
    if (area === "simple") return this.page(rest[0] ?? "", response);
    // Both as an index stores files, and as a mirror of a wheelhouse does: the last part is the name.
    const file = this.files.find(({ name }) => name === rest.at(-1));
    if (file === undefined) return void response.writeHead(404).end();
    return this.content(file, request, response);
  }

  private page(packageName: string, response: ServerResponse): void {
    const files = this.files.filter((file) => file.package === packageName);
    if (files.length === 0) return void response.writeHead(404).end();
    if (!this.tellsHashes) {
      const links = files.map(({ name }) => `<a href="/files/${encodeURIComponent(name)}">${name}</a>`);
      return void response
        .writeHead(200, { "Content-Type": "text/html" })
        .end(`<html>${links.join("\n")}</html>`);
    }
    const entries = files.map(({ name, sha256, bytes, uploaded }) => ({
      filename: name,
      url: `/files/${encodeURIComponent(name)}`,
      hashes: { sha256 },
      size: bytes,
      "upload-time": uploaded,
    }));
    const body = { meta: { "api-version": "1.1" }, name: packageName, files: entries };
    return void response
      .writeHead(200, { "Content-Type": "application/vnd.pypi.simple.v1+json" })
      .end(JSON.stringify(body));
  }

  private content(file: IndexFile, request: IncomingMessage, response: ServerResponse): void {
    const { range } = request.headers;
    const earlier = this.asked.filter((line) => line.split(" ")[0] === file.name).length;
    if (request.method === "GET") this.asked.push(range === undefined ? file.name : `${file.name} ${range}`);
    const fault = this.fault(file.name, earlier);
    if (typeof fault === "object") {
      const retry = fault.retryAfter === undefined ? {} : { "Retry-After": String(fault.retryAfter) };
      return void response.writeHead(fault.status, retry).end();
    }
    const body = fault === "corrupt" ? Buffer.alloc(file.bytes, "x") : file.body;
    const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "") ?? [];
    const start = range === undefined ? 0 : from === "" ? file.bytes - Number(to) : Number(from);
    const end = from !== "" && to !== "" ? Number(to) + 1 : file.bytes;
    const part = body.subarray(start, end);
    response.writeHead(range === undefined ? 200 : 206, {
      "Content-Length": part.length,
      "Accept-Ranges": "bytes",
      ...(range === undefined
        ? {}
        : { "Content-Range": `bytes ${start}-${start + part.length - 1}/${file.bytes}` }),
    });
    if (request.method === "HEAD") return void response.end();
    if (fault === "slow") return void setTimeout(() => response.end(part), 1500);
    if (fault !== "cut") return void response.end(part);
    response.write(part.subarray(0, Math.floor(part.length / 2)), () => response.destroy());
  }
}
