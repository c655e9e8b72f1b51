/** A clock that is behind: certificates are not valid yet. Everything that fetches says so, and asks once. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SCRIPTS, scriptText } from "../../plan/script";
import { runProgram, type Outcome } from "../run-program";
import { futureCertificate } from "./future-certificate";

jest.setTimeout(60_000);

const SHA256 = "1".repeat(64);

let server: Server;
let folder: string;
let connections = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clock-"));
  const { key, certificate } = futureCertificate("127.0.0.1");
  writeFileSync(join(folder, "authority"), certificate);
  server = createServer({ key, cert: certificate }, (_, response) => response.end("{}"));
  server.on("connection", () => (connections += 1));
  // What refuses the certificate closes the connection in the middle of the greeting.
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  connections = 0;
});

const url = () => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Runs a command that trusts the server but for its dates. */
function run(command: string, words: readonly string[], input = ""): Promise<Outcome> {
  const authority = join(folder, "authority");
  const trust = { CURL_CA_BUNDLE: authority, SSL_CERT_FILE: authority };
  const tools = { UV_DEFAULT_INDEX: `${url()}/simple`, PYTHONPATH: join(SCRIPTS, "tools") };
  return runProgram(command, words, {
    env: { PATH: process.env.PATH, HOME: folder, ...trust, ...tools },
    input,
  });
}

function write(name: string, value: object): string {
  writeFileSync(join(folder, name), JSON.stringify(value));
  return join(folder, name);
}

const FETCHES: Readonly<Record<string, () => Promise<Outcome>>> = {
  "a step's download": () =>
    run(
      "bash",
      ["-s"],
      `set -euo pipefail
${scriptText("lib/step.sh")}
${scriptText("lib/download.sh")}
download ${url()}/file ${folder}/file ${SHA256}`,
    ),
  "the tool that brings uv": () =>
    run("python3", [join(SCRIPTS, "tools/package_index.py"), "uv-1-py3-none-any.whl", SHA256, folder]),
  "a wheelhouse": () => {
    const list = write("list.json", {
      files: [{ name: "six-1-py3-none-any.whl", sha256: SHA256, package: "six" }],
    });
    const tool = join(SCRIPTS, "tools/wheelhouse.py");
    return run("python3", [tool, "fetch", "--dir", join(folder, "house"), "--list", list]);
  },
  "a model": () => {
    const spec = { repo: "a/b", revision: "2".repeat(40), path: join(folder, "model"), endpoint: url() };
    return run("python3", [
      "-m",
      "model_snapshot",
      "fetch",
      write("spec.json", { ...spec, files: null, facts: null }),
    ]);
  },
};

test.each(Object.keys(FETCHES))(
  "%s says that the certificate is not valid yet, and asks for the clock",
  async (name) => {
    const outcome = await FETCHES[name]?.();
    expect(outcome?.code).toBe(1);
    const said = `${outcome?.output}${outcome?.errors}`;
    expect(said).toContain("certificate is not yet valid");
    expect(said).toMatch(/clock .*right\? \(timedatectl\)/);
    expect(connections).toBe(1);
  },
);
