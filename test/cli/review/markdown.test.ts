import { cuttable, fenced, fitted } from "../../../cli/review/markdown";

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => `+line ${index} ${"x".repeat(40)}`).join("\n");

test("a fence is longer than any in its text", () => {
  expect(fenced("diff", "+```sh\n+echo\n+```\n")).toBe("````diff\n+```sh\n+echo\n+```\n````");
});

test("a comment that fits holds everything and no note", () => {
  const text = fitted("head", [cuttable("a", "a", "diff", lines(3))], "Elsewhere.");
  expect(text).toContain("line 2");
  expect(text).not.toContain("Left out");
});

test("a comment never exceeds its limit, cuts at a line's end, and says how much is missing", () => {
  const text = fitted("head", [cuttable("big", "big", "diff", lines(5_000))], "Elsewhere.");
  expect(text.length).toBeLessThanOrEqual(65_536);
  expect(text.length).toBeGreaterThan(55_000);
  const shown = (text.match(/^\+line/gm) ?? []).length;
  expect(text).toContain(`${5_000 - shown} lines more`);
  expect(text.match(/^\+line .*$/gm)?.at(-1)).toMatch(/x{40}$/);
});

test("what does not fit at all is named, however much it is", () => {
  const many = Array.from({ length: 500 }, (_, index) => cuttable(`file-${index}`, "s", "diff", lines(60)));
  const text = fitted("head", many, "Elsewhere.");
  expect(text.length).toBeLessThanOrEqual(65_536);
  expect(text).toMatch(/> Left out, because a comment holds 65536 characters: file-\d+, /);
  expect(text).toContain("Elsewhere.");
});

test("a small block still goes in after a large one was left out", () => {
  const text = fitted(
    "head",
    [cuttable("big", "big", "diff", lines(2_000)), cuttable("small", "small", "diff", "+one")],
    "Elsewhere.",
  );
  expect(text).toContain("+one");
});
