import { changedStacks } from "../../../cli/review/changed-stacks";

const STACKS = [
  { stack: "b", locks: ["two"], models: ["owner/b"], checksumFiles: [] },
  { stack: "a", locks: ["one"], models: ["owner/a"], checksumFiles: ["sums/SHA256SUMS"] },
];

test.each([
  [["Pulumi.a.yaml"], ["a"]],
  [["environments/one/requirements.lock"], ["a"]],
  [["environments/one-more/requirements.lock"], []],
  [["environments/uv.lock.txt"], ["a", "b"]],
  [["models/owner--b.json"], ["b"]],
  [["models/owner--b/94ac6c0143ee.json"], ["b"]],
  [["models/owner--bigger.json", "models/owner--bigger/94ac6c0143ee.json"], []],
  [["sums/SHA256SUMS"], ["a"]],
  [["plan/unit/hardening.ts"], ["a", "b"]],
  [["scripts/container/service.sh"], ["a", "b"]],
  [["package-lock.json"], ["a", "b"]],
  [["Pulumi.yaml"], ["a", "b"]],
  [["Pulumi.gone.yaml"], []],
  [
    ["docs/limits.md", "test/plan/unit.test.ts", "lab/lab", "scripts/ci/preview", ".github/workflows/ci.yml"],
    [],
  ],
  [["docs/plan/x.md", "notes/index.ts"], []],
])("%j touches %j", (files, stacks) => {
  expect(changedStacks(files, STACKS).map(({ stack }) => stack)).toEqual(stacks);
});

test("says why, each reason once", () => {
  expect(changedStacks(["plan/a.ts", "plan/b.ts", "Pulumi.a.yaml"], STACKS)).toEqual([
    { stack: "a", because: ["Pulumi.a.yaml", "plan/"] },
    { stack: "b", because: ["plan/"] },
  ]);
});
