import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { scriptText } from "../../plan/script";

const folder = mkdtempSync(join(tmpdir(), "files-"));
const file = join(folder, "file");
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Whether `same_text` takes the file for that text. */
function same(content: string | Buffer, text: string): boolean {
  writeFileSync(file, content);
  const script = `set -euo pipefail\n${scriptText("lib/files.sh")}\nsame_text "$1" "$2"`;
  return spawnSync("bash", ["-c", script, "bash", file, text]).status === 0;
}

describe("a file", () => {
  it.each(["", "one\n", "one\ntwo", "ends with three\n\n\n", "a*[b] \\n $(c)", "é ✓ \u{1f600}"])(
    "that holds %j is that text",
    (text) => {
      expect(same(text, text)).toBe(true);
    },
  );

  it.each([
    ["one\n", "one"],
    ["one", "one\n"],
    ["one\n", "one\n\n"],
    ["", "one"],
    ["one", ""],
    ["axb", "a*b"],
    ["one\0two", "one"],
    ["one\0", "one"],
  ])("that holds %j is not %j", (content, text) => {
    expect(same(content, text)).toBe(false);
  });

  it("with bytes that are no text is the same bytes, and no others", () => {
    const bytes = Buffer.from([0x63, 0xff, 0xfe]);
    writeFileSync(file, bytes);
    const script = `${scriptText("lib/files.sh")}\nsame_text "$1" $'c\\xff\\xfe' && ! same_text "$1" $'c\\xff\\xfd'`;
    expect(spawnSync("bash", ["-c", script, "bash", file]).status).toBe(0);
  });

  it("that is not there is no text, not even an empty one", () => {
    rmSync(file);
    const script = `${scriptText("lib/files.sh")}\nsame_text "$1" ""`;
    expect(spawnSync("bash", ["-c", script, "bash", file]).status).toBe(1);
  });
});
