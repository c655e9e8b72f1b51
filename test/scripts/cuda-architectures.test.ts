import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SCRIPTS } from "../../plan/script";

const FIXTURES = join(__dirname, "fixtures");
const HELD = ["sm_80", "sm_90a", "sm_100f", "sm_120a"];

const list = (...args: string[]) =>
  spawnSync("python3", [join(SCRIPTS, "tools", "cuda-architectures.py"), ...args], { encoding: "utf8" });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "architectures-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

it.each(["cuda-plain.o", "cuda-compressed.o"])("the machine code of %s is listed, its PTX is not", (name) => {
  const file = join(FIXTURES, name);
  expect(JSON.parse(list(file).stdout)).toEqual({ [file]: HELD });
});

it("what is required and there ends with 0", () => {
  expect(list("--require", "sm_80,sm_120a", join(FIXTURES, "cuda-compressed.o")).status).toBe(0);
});

it("what is required and not there is named beside what is there", () => {
  const result = list("--require", "sm_120,sm_89,sm_80", join(FIXTURES, "cuda-compressed.o"));
  expect(result.status).toBe(1);
  expect(result.stderr).toBe(`no code for sm_120 sm_89: the files hold ${HELD.join(" ")}\n`);
});

it("a folder stands for the shared libraries in it", () => {
  const library = join(folder, "ops.abi3.so");
  writeFileSync(library, readFileSync(join(FIXTURES, "cuda-plain.o")));
  writeFileSync(join(folder, "notes.txt"), "no library");
  expect(JSON.parse(list(folder).stdout)).toEqual({ [library]: HELD });
});

it("a file that is no ELF file is refused by its name", () => {
  const file = join(folder, "broken.so");
  writeFileSync(file, "text");
  const result = list(file);
  expect(result.status).toBe(2);
  expect(result.stderr).toContain("broken.so: no 64-bit little-endian ELF file");
});
