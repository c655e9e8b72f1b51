import { readFileSync } from "node:fs";
import path from "node:path";
import { allowancesIn, isAllowed } from "../../../cli/review/allowances";
import { readPreview } from "../../../cli/review/preview";
import { reviewPreview } from "../../../cli/review/preview-comment";

/** What the real engine said of a change to the deployed lab (test/ci/record-previews). */
const recorded = (name: string): string =>
  readFileSync(path.join(__dirname, "../../ci/previews", `${name}.json`), "utf8");

const review = (name: string, allowed: string[] = []) =>
  reviewPreview("lab", readPreview(recorded(name)), allowed);

test("an update names the arguments that change, and no value", () => {
  const { changes, incomplete, errors } = readPreview(recorded("update"));
  const service = changes.find(({ name }) => name === "qwen-service");
  expect(service).toMatchObject({ operation: "update", kind: "Command", isProtected: false });
  expect(service?.what).toContain("arguments");
  expect(service?.what).not.toContain("unit");
  expect(incomplete).toBe(false);
  expect(errors).toEqual([]);
  expect(review("update").fine).toBe(true);
});

test("components are left out: what is in them is listed", () => {
  const names = readPreview(recorded("delete")).changes.map(({ name }) => name);
  expect(names).toContain("other-container");
  expect(names).not.toContain("other");
});

test("a replacement of a protected container is refused with the property that causes it", () => {
  const { fine, refused, comment } = review("replace");
  expect(fine).toBe(false);
  expect(refused).toMatchObject([{ name: "ml-container", operation: "replace", what: ["disk.datastoreId"] }]);
  expect(comment).toContain("> [!CAUTION]");
  expect(comment).toContain("more may change than is listed");
});

test("an allowed replacement passes: the engine's refusal is explained, not repeated as an error", () => {
  const { fine, comment } = review("replace", ["lab/ml-container"]);
  expect(fine).toBe(true);
  expect(comment).toContain("> [!WARNING]");
  expect(comment).not.toContain("unable to replace");
});

test("a deletion of a protected container is refused; what another stack allows does not count", () => {
  expect(review("delete", ["kpro5/ml-container"]).refused).toMatchObject([
    { name: "ml-container", operation: "delete" },
  ]);
  expect(review("delete", ["ml-container"]).fine).toBe(true);
});

test("other errors fail also where a replacement is allowed", () => {
  const preview = JSON.parse(recorded("replace")) as { diagnostics: object[] };
  preview.diagnostics.push({ message: "error: the passphrase is wrong\n", severity: "error" });
  const { fine, comment } = reviewPreview("lab", readPreview(JSON.stringify(preview)), ["ml-container"]);
  expect(fine).toBe(false);
  expect(comment).toContain("the passphrase is wrong");
});

test("a failure without a reason is a failure", () => {
  const text = JSON.stringify({
    steps: [],
    diagnostics: [{ message: "error: preview failed\n", severity: "error" }],
  });
  const { fine, comment } = reviewPreview("lab", readPreview(text), []);
  expect(fine).toBe(false);
  expect(comment).toContain("### Preview of `lab`: failed");
});

test("an unprotected replacement is shown and passes", () => {
  const text = recorded("replace").replaceAll('"protect": true', '"protect": false');
  const preview = JSON.parse(text) as { diagnostics: { severity: string }[] };
  preview.diagnostics = preview.diagnostics.filter(({ severity }) => severity !== "error");
  const { fine, comment } = reviewPreview("lab", readPreview(JSON.stringify(preview)), []);
  expect(fine).toBe(true);
  expect(comment).toContain("| replace | `ml-container` |");
});

test("plain secrets of a configuration never come through", () => {
  const preview = {
    ...(JSON.parse(recorded("update")) as object),
    config: { "x:apiPassword": "hunter2-hunter2" },
  };
  expect(reviewPreview("lab", readPreview(JSON.stringify(preview)), []).comment).not.toContain("hunter2");
});

test("text that is no preview is an error that shows it", () => {
  expect(() => readPreview("error: no such stack")).toThrow("no such stack");
  expect(() => readPreview('{"steps": 5}')).toThrow("steps");
});

test.each([
  ["allow-replace: kpro5/ml-container", ["kpro5/ml-container"]],
  ["text\r\n- Allow-Replace: `a`, b\r\nmore", ["a", "b"]],
  ["> allow-replace: a", ["a"]],
  ["we do not allow-replace: a", []],
  ["allow-replace:", []],
])("%j allows %j", (description, names) => {
  expect(allowancesIn(description)).toEqual(names);
});

test("a name with a stack counts in that stack only, one without in all", () => {
  expect(isAllowed(["kpro5/ml-container"], "kpro5", "ml-container")).toBe(true);
  expect(isAllowed(["kpro5/ml-container"], "kpro6", "ml-container")).toBe(false);
  expect(isAllowed(["ml-container"], "kpro6", "ml-container")).toBe(true);
  expect(isAllowed(["ml"], "kpro6", "ml-container")).toBe(false);
});
