/** Whatever stands on the command line: a verb says what is wrong with it, in words, and runs nothing of it. */
import { existsSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { run } from "../../cli/main";
import { PROJECT_DIRECTORY } from "../../config/load";
import { HIDDEN } from "../../config/visible";
import { outcomeOf } from "../cli/captured-output";
import { anyText, CANARY, encoded } from "./strings";

/** Command lines with `*` where somebody's text stands; none of them reaches a machine. */
const LINES: readonly (readonly string[])[] = [
  ["check", "*"],
  ["check", "./*"],
  ["render", "*", "--out", "/nowhere"],
  ["render", "lab", "--diff", "*"],
  ["changed", "*"],
  ["preview-report", "*", "--json", "/dev/null"],
  ["preview-report", "lab", "--json", "*"],
  ["explain", "*"],
  ["recommend", "--model", "*", "--gpu", "h200", "--count", "1"],
  ["recommend", "--model", "qwen3.6-27b", "--gpu", "*", "--count", "1"],
  ["recommend", "--model", "qwen3.6-27b", "--gpu", "h200", "--count", "*"],
  ["recover", "lab", "*"],
  ["rollback", "lab", "*"],
  ["rehome", "*", "lab"],
  ["pin", "--check", "*"],
  ["wheelhouse", "fetch", "*"],
  ["describe-model", "*"],
  ["catalog", "add-release", "*"],
  ["judge", "*"],
  ["*"],
];

// A command line has no NUL, and halves of surrogate pairs are replaced before a program sees them.
const texts = anyText
  .map((text) => encoded(text.replaceAll("\0", "")))
  .filter((text) => !["-", ""].includes(text));

test.each(LINES.map((line) => [line.join(" "), line] as const))("stack %s", async (_, line) => {
  const found = readdirSync(PROJECT_DIRECTORY).length;
  for (const text of fc.sample(texts, 12)) {
    const words = line.map((word) => word.replace("*", () => text));
    const { code, stderr } = await outcomeOf(() => run(words));
    const told = JSON.stringify({ words, code, stderr: stderr.slice(0, 500) });
    // Help is asked for, and a revision such as HEAD exists.
    if (code !== 0)
      expect(`${told} ${[1, 2, 3].includes(code) ? "known exit code" : code}`).toContain("known exit code");
    expect(stderr).not.toMatch(/\n {4}at |TypeError|RangeError|ERR_/);
    expect(Math.max(...stderr.split("\n").map((written) => written.length))).toBeLessThan(2500);
    if (code !== 3 || stderr.startsWith("stack: "))
      expect(stderr.split("\n").filter((written) => HIDDEN.test(written))).toEqual([]);
  }
  expect(existsSync(CANARY)).toBe(false);
  expect(readdirSync(PROJECT_DIRECTORY)).toHaveLength(found);
});
