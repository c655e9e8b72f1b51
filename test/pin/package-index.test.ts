/** The tool that brings uv into a container, and knows which index a machine uses. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { runProgram, type Outcome } from "../run-program";
import { PackageIndex, type IndexFile } from "./support/package-index";

const TOOL = path.join(__dirname, "../../scripts/tools/package_index.py");

jest.setTimeout(60_000);

let index: PackageIndex;
let directory: string;

beforeEach(async () => {
  index = new PackageIndex();
  await index.start();
  index.offer({ name: "six", version: "1.17.0" });
  directory = mkdtempSync(path.join(tmpdir(), "package-index-"));
});

afterEach(async () => {
  await index.stop();
  rmSync(directory, { recursive: true });
});

/** Runs the tool as on a machine whose own configuration is `environment` and nothing else. */
const tool = (words: readonly string[], environment: Record<string, string> = {}) =>
  runProgram("python3", [TOOL, ...words], {
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      XDG_CONFIG_DIRS: path.join(directory, "xdg"),
      ...environment,
    },
  });

describe("bringing a file", () => {
  const folder = () => path.join(directory, "into");
  const bring = ({ name, sha256 }: Pick<IndexFile, "name" | "sha256">) =>
    tool([name, sha256, folder()], { UV_DEFAULT_INDEX: index.url });

  test("leaves it under its name, and nothing beside it", async () => {
    const six = index.file("six");
    expect(await bring(six)).toEqual({ code: 0, output: "", errors: "" });
    expect(readdirSync(folder())).toEqual([six.name]);
    expect(readFileSync(path.join(folder(), six.name)).equals(six.body)).toBe(true);
  });

  test.each<[string, () => void]>([
    ["an answer that broke off", () => (index.fault = (_, earlier) => (earlier === 0 ? "cut" : undefined))],
    ["a server's error", () => (index.fault = (_, earlier) => (earlier === 0 ? { status: 503 } : undefined))],
  ])("tries again after %s", async (_, break_) => {
    break_();
    const six = index.file("six");
    expect((await bring(six)).code).toBe(0);
    expect(index.asked).toHaveLength(2);
    expect(readFileSync(path.join(folder(), six.name)).equals(six.body)).toBe(true);
  });

  test("keeps nothing of another file and names both hashes", async () => {
    index.fault = () => "corrupt";
    const six = index.file("six");
    const outcome = await bring(six);
    expect(outcome.code).toBe(1);
    expect(outcome.errors).toMatch(
      new RegExp(`another file of this name, sha256 [0-9a-f]{64}, declared is ${six.sha256}\n$`),
    );
    expect(readdirSync(folder())).toEqual([]);
  });

  test.each<[string, (file: IndexFile) => Promise<Outcome>, RegExp]>([
    [
      "a file that the index dropped",
      ({ sha256 }) => bring({ name: "six-1.0-py3-none-any.whl", sha256: sha256.replace(/./g, "1") }),
      /no longer offers it/,
    ],
    [
      "a package that it does not have",
      ({ sha256 }) => bring({ name: "seven-7-py3-none-any.whl", sha256 }),
      /answers 404/,
    ],
  ])("says at once that it cannot be had: %s", async (_, attempt, why) => {
    const outcome = await attempt(index.file("six"));
    expect(outcome).toMatchObject({ code: 1, output: "" });
    expect(outcome.errors).toMatch(why);
    expect(existsSync(folder()) ? readdirSync(folder()) : []).toEqual([]);
  });
});

test("an index's password goes along with redirects to the index itself, and to no other host", async () => {
  const six = index.file("six");
  const seen: string[] = [];
  const front = createServer((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    const location = request.url === "/simple/six/" ? "/moved/six/" : `${index.url}/six/`;
    response.writeHead(302, { Location: location }).end();
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  const environment = { UV_DEFAULT_INDEX: `http://user:secret@127.0.0.1:${port}/simple` };
  const outcome = await tool([six.name, six.sha256, directory], environment);
  front.close();
  expect(outcome).toEqual({ code: 0, output: "", errors: "" });
  const basic = `Basic ${Buffer.from("user:secret").toString("base64")}`;
  expect(seen).toEqual([`/simple/six/ ${basic}`, `/moved/six/ ${basic}`]);
  expect(index.credentials).toEqual([]);
});

describe("the index of this machine", () => {
  /** A configuration file of pip, below the home folder. */
  function pip(file: string, text: string): string {
    const place = path.join(directory, file);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, text);
    return place;
  }

  const address = async (environment: Record<string, string> = {}) =>
    (await tool([], environment)).output.trim();

  test("is PyPI where nothing is configured", async () => {
    expect(await address({ PIP_CONFIG_FILE: "/dev/null" })).toBe("https://pypi.org/simple");
  });

  test("is what pip's files say, the user's before the system's, install before global", async () => {
    pip("xdg/pip/pip.conf", "[global]\nindex-url = http://system.example/simple/\n");
    expect(await address()).toBe("http://system.example/simple");
    pip(".config/pip/pip.conf", "[global]\nindex_url = http://user.example/simple\n");
    expect(await address()).toBe("http://user.example/simple");
    pip(".pip/pip.conf", "[install]\nindex-url = http://install.example/simple\n");
    expect(await address()).toBe("http://install.example/simple");
  });

  test("is what the environment says before any file", async () => {
    const named = pip("named.conf", "[global]\nindex-url = http://named.example/simple\n");
    expect(await address({ PIP_CONFIG_FILE: named })).toBe("http://named.example/simple");
    const variables = { PIP_CONFIG_FILE: named, PIP_INDEX_URL: "http://pip.example/simple" };
    expect(await address(variables)).toBe("http://pip.example/simple");
    expect(await address({ ...variables, UV_DEFAULT_INDEX: "http://uv.example/simple" })).toBe(
      "http://uv.example/simple",
    );
  });

  test("is not guessed where pip's file cannot be read", async () => {
    const outcome = await tool([], {
      PIP_CONFIG_FILE: pip("broken.conf", "index-url = http://no.section/\n"),
    });
    expect(outcome).toMatchObject({ code: 1, output: "" });
    expect(outcome.errors).toContain("pip's configuration cannot be read");
  });
});
