import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { runProgram } from "../run-program";
import { PackageIndex, type IndexFile } from "./support/package-index";

const TOOL = path.join(__dirname, "../../scripts/tools/wheelhouse.py");

jest.setTimeout(60_000);

let index: PackageIndex;
let directory: string;

beforeEach(async () => {
  index = new PackageIndex();
  await index.start();
  index.offer(
    { name: "six", version: "1.17.0" },
    { name: "packaging", version: "26.0", code: "#".repeat(5000) },
  );
  directory = mkdtempSync(path.join(tmpdir(), "wheelhouse-"));
});

afterEach(() => index.stop());

/** A list as `./stack pin` writes it. */
function list(files: readonly IndexFile[] = index.files, changes: object = {}): string {
  const file = path.join(directory, "wheelhouse.json");
  const entries = files.map(({ name, sha256, bytes, package: packageName }) => ({
    ...{ name, sha256, bytes, package: packageName },
    ...changes,
  }));
  writeFileSync(file, JSON.stringify({ files: entries }));
  return file;
}

const tool = (action: string, listFile: string, ...words: string[]) =>
  runProgram("python3", [TOOL, action, "--dir", path.join(directory, "house"), "--list", listFile, ...words]);

const fetchFrom = (listFile: string, ...words: string[]) =>
  tool("fetch", listFile, "--index", index.url, ...words);
const placeOf = ({ sha256, name }: IndexFile) => path.join(directory, "house/files", sha256, name);

describe("fetch", () => {
  test("brings every file to its content address, and asks for nothing that is there", async () => {
    const wanted = list();
    expect(await fetchFrom(wanted)).toMatchObject({
      code: 0,
      output: "2 of 2 files are there and verified\n",
    });
    for (const file of index.files) expect(readFileSync(placeOf(file)).equals(file.body)).toBe(true);
    index.asked.length = 0;
    expect((await fetchFrom(wanted)).code).toBe(0);
    expect(index.asked).toEqual([]);
  });

  test("finds a file by its name where the index tells no hashes, and verifies it by ours", async () => {
    index.tellsHashes = false;
    expect((await fetchFrom(list())).code).toBe(0);
    index.fault = (name) => (name.startsWith("six") ? "corrupt" : undefined);
    const other = await fetchFrom(list([index.file("six")], { sha256: "1".repeat(64) }));
    expect(other).toMatchObject({ code: 1 });
    expect(other.output).toContain(`the list says ${"1".repeat(64)}`);
  });

  test("takes a named index only by its address", async () => {
    const wanted = list([index.file("six")], { index: "nightly" });
    const refused = await tool("fetch", wanted, "--index", "http://127.0.0.1:9");
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.output).toContain("no --index-of nightly=URL was given");
    const named = await tool(
      "fetch",
      wanted,
      "--index",
      "http://127.0.0.1:9",
      "--index-of",
      `nightly=${index.url}`,
    );
    expect(named.code).toBe(0);
  });

  test("keeps nothing of a corrupt file, names it with both hashes, and brings the others", async () => {
    index.fault = (name) => (name.startsWith("six") ? "corrupt" : undefined);
    const six = index.file("six");
    const outcome = await fetchFrom(list());
    expect(outcome.code).toBe(1);
    expect(outcome.output).toMatch(
      new RegExp(`${six.name}: its sha256 is [0-9a-f]{64}, the list says ${six.sha256}`),
    );
    expect(existsSync(placeOf(six))).toBe(false);
    expect(existsSync(placeOf(index.file("packaging")))).toBe(true);
    index.fault = () => undefined;
    expect((await fetchFrom(list())).code).toBe(0);
  });

  test("goes on where an answer was cut short", async () => {
    const file = index.file("packaging");
    index.fault = (_, earlier) => (earlier === 0 ? "cut" : undefined);
    expect((await fetchFrom(list([file]))).code).toBe(0);
    expect(index.asked).toEqual([file.name, `${file.name} bytes=${Math.floor(file.bytes / 2)}-`]);
    expect(readFileSync(placeOf(file)).equals(file.body)).toBe(true);
  });

  test("waits as a busy server asks, and tries again after its error", async () => {
    const answers = [{ status: 429, retryAfter: 1 }, { status: 500 }];
    index.fault = (_, earlier) => answers[earlier];
    const started = Date.now();
    expect((await fetchFrom(list([index.file("six")]))).code).toBe(0);
    expect(Date.now() - started).toBeGreaterThan(1000);
    expect(index.asked).toHaveLength(3);
  });

  test("does not ask again for what the server refuses", async () => {
    index.fault = () => ({ status: 403 });
    const outcome = await fetchFrom(list([index.file("six")]));
    expect(outcome).toMatchObject({ code: 1 });
    expect(outcome.output).toContain(`${index.file("six").name}: the server answers 403`);
    expect(index.asked).toHaveLength(1);
  });

  test("names a build that the index dropped after the pin", async () => {
    const wanted = list();
    index.files = index.files.filter((file) => file.package !== "six");
    index.offer({ name: "six", version: "1.18.0" });
    const outcome = await fetchFrom(wanted);
    expect(outcome.code).toBe(1);
    expect(outcome.output).toContain(
      "six-1.17.0-py3-none-any.whl: the index no longer offers it (1 files of six are there)",
    );
  });

  test("does not take another file of the same name", async () => {
    const wanted = list();
    index.files = index.files.filter((file) => file.package !== "six");
    index.offer({ name: "six", version: "1.17.0", code: "changed = True" });
    const outcome = await fetchFrom(wanted);
    expect(outcome.code).toBe(1);
    expect(outcome.output).toContain("another file of this name");
  });

  test("takes everything from a mirror, with no index", async () => {
    const words = ["--mirror", `${index.origin}/mirror/`, "--index", "http://127.0.0.1:9"];
    expect((await tool("fetch", list(), ...words)).code).toBe(0);
    index.files = [index.file("six")];
    const absent = { ...index.file("six"), name: "gone-1-py3-none-any.whl", sha256: "2".repeat(64) };
    const outcome = await tool("fetch", list([absent]), ...words);
    expect(outcome).toMatchObject({ code: 1 });
    expect(outcome.output).toContain("gone-1-py3-none-any.whl: the server answers 404");
  });

  test("two runs at once bring each file once", async () => {
    index.fault = () => "slow";
    const wanted = list();
    const outcomes = await Promise.all([fetchFrom(wanted), fetchFrom(wanted)]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    expect(index.asked.sort()).toEqual(index.files.map(({ name }) => name).sort());
    for (const file of index.files) expect(readdirSync(path.dirname(placeOf(file)))).toEqual([file.name]);
  });

  test("refuses a list that names a place outside the wheelhouse", async () => {
    const outcome = await fetchFrom(list([{ ...index.file("six"), name: "../../six.whl" }]));
    expect(outcome).toMatchObject({ code: 1 });
    expect(outcome.errors).toContain("'../../six.whl' is no file name");
  });
});

describe("what is there", () => {
  beforeEach(async () => {
    await fetchFrom(list());
  });

  /** Overwrites a file that nobody may write to. */
  function damage(file: IndexFile, body: string | Buffer): void {
    chmodSync(placeOf(file), 0o644);
    writeFileSync(placeOf(file), body);
  }

  test("verify passes what is right", async () => {
    expect(await tool("verify", list())).toMatchObject({ code: 0, output: "2 of 2 files are right\n" });
  });

  test("verify names every missing, truncated and changed file, and ends with 2", async () => {
    const [six, packaging] = [index.file("six"), index.file("packaging")];
    damage(packaging, packaging.body.subarray(9));
    const absent = { ...six, name: "gone-1.whl", sha256: "2".repeat(64) };
    damage(six, Buffer.alloc(six.bytes, "x"));
    const outcome = await tool("verify", list([six, packaging, absent]));
    expect(outcome.code).toBe(2);
    expect(outcome.output.split("\n")).toEqual([
      expect.stringContaining(`corrupt: ${six.name} has sha256`),
      `corrupt: ${packaging.name} has ${packaging.bytes - 9} bytes, must have ${packaging.bytes}`,
      expect.stringContaining("missing: gone-1.whl"),
      "0 of 3 files are right",
      "",
    ]);
  });

  test("verify --quick compares sizes only", async () => {
    const six = index.file("six");
    damage(six, Buffer.alloc(six.bytes, "x"));
    expect((await tool("verify", list(), "--quick")).code).toBe(0);
  });

  test("link makes a flat folder for an installer", async () => {
    const target = path.join(directory, "flat");
    expect((await tool("link", list(), "--to", target)).code).toBe(0);
    expect(readdirSync(target).sort()).toEqual(index.files.map(({ name }) => name).sort());
    expect(readlinkSync(path.join(target, index.file("six").name))).toBe(placeOf(index.file("six")));
  });

  test("gc says what it would remove, then removes what no list names", async () => {
    const [six, packaging] = [index.file("six"), index.file("packaging")];
    const wanted = list([six]);
    const folder = path.join(directory, "house/files", six.sha256);
    writeFileSync(path.join(folder, `${six.name}.partial`), "");
    mkdirSync(path.join(directory, "house/built/abc"), { recursive: true });
    const line = `files/${packaging.sha256}/${packaging.name} (${packaging.bytes} bytes)`;
    expect((await tool("gc", wanted, "--dry-run")).output).toContain(`would remove ${line}`);
    expect(existsSync(placeOf(packaging))).toBe(true);
    expect((await tool("gc", wanted)).output).toContain(`removed ${line}`);
    expect(readdirSync(path.join(directory, "house/files"))).toEqual([six.sha256]);
    expect(readdirSync(folder)).toEqual([six.name, `${six.name}.partial`]);
    expect(existsSync(path.join(directory, "house/built/abc"))).toBe(true);
  });
});

test("a wrong command line ends with 3", async () => {
  expect((await tool("fetch", list(), "--no-such")).code).toBe(3);
});
