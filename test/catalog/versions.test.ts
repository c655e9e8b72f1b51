import { inRange, knowledgeOf, parseBuild, releaseOf, type Build } from "../../catalog";

const build = (text: string) => parseBuild(text) as Build;

describe("a build", () => {
  test.each([
    ["0.5.11", { kind: "release", version: "0.5.11" }],
    ["0.5.10rc0", { kind: "release", version: "0.5.10rc0" }],
    ["0.5.12.post1", { kind: "release", version: "0.5.12.post1" }],
  ])("%s is a release", (text, expected) => {
    expect(parseBuild(text)).toEqual(expected);
  });

  test("is a development build by name, by its first digits, or by its whole commit", () => {
    const names = ["main-20260307", "f88acf8", "f88acf8780", "f88acf8780aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    for (const text of names)
      expect(parseBuild(text)).toMatchObject({ kind: "commit", build: { name: "main-20260307" } });
  });

  test("that looks like a commit but is none of the catalog's is unknown, even when all its digits are decimal", () => {
    expect(parseBuild("1234567")).toBeUndefined();
    expect(parseBuild("main")).toBeUndefined();
  });

  test("takes flags and pins from the release before it, or the newest", () => {
    expect(releaseOf(build("main-20260307"))?.version).toBe("0.5.9");
    expect(releaseOf(build("0.6.0"))?.version).toBe("0.5.23");
    expect(releaseOf(build("0.5.10rc0"))).toBeUndefined();
    expect(["0.5.11", "main-20260307", "0.6.0", "0.5.7"].map((text) => knowledgeOf(build(text)))).toEqual([
      "exact",
      "development",
      "newer",
      "unknown",
    ]);
  });
});

describe("a range", () => {
  test.each([
    // Releases: `from` is in, `before` is out, post releases belong to their release.
    ["0.5.10", { from: "0.5.10", before: "0.5.11" }, true],
    ["0.5.10.post1", { from: "0.5.10", before: "0.5.11" }, true],
    ["0.5.10rc0", { from: "0.5.10", before: "0.5.11" }, false],
    ["0.5.11", { from: "0.5.10", before: "0.5.11" }, false],
    ["0.6.0", { from: "0.5.10" }, true],
    ["0.5.9", {}, true],
    // A development build lies after the release before it.
    ["main-20260307", { before: "0.5.10" }, true],
    ["main-20260307", { from: "0.5.9", before: "0.5.10" }, true],
    ["main-20260307", { from: "0.5.10" }, false],
    // Dates on main, for both kinds.
    ["main-20260227", { from: "2026-02-27", before: "2026-03-17" }, true],
    ["main-20260317", { from: "2026-02-27", before: "2026-03-17" }, false],
    ["0.5.9", { before: "2026-02-24" }, true],
    ["main-20260227", { before: "2026-02-24" }, false],
    ["0.5.9", { before: "2026-02-27" }, true],
    ["0.5.10", { from: "2026-03-17" }, true],
    ["0.5.23", { before: "2026-03-17" }, false],
  ])("%s in %j: %s", (text, range, expected) => {
    expect(inRange(build(text), range)).toBe(expected);
  });
});
