import { renderedDiff } from "../../../cli/review/rendered-comment";

const steps = (commands: Readonly<Record<string, string>>): string =>
  Object.entries(commands)
    .map(
      ([name, command]) =>
        `## ${name}\n\nDoes it.\n\n\`\`\`text\na=b\n\`\`\`\n\n\`\`\`sh\n${command}\n\`\`\``,
    )
    .join("\n\n");

const BEFORE = {
  "steps.md": steps({ one: "bash -s -- one a=1", two: "bash -s -- two", three: "bash -s -- three" }),
  "units/a.service": "[Unit]\nDescription=a\n[Service]\nExecStart=/bin/a\n",
  "units/old.service": "[Unit]\n",
};
const AFTER = {
  "steps.md": steps({ one: "bash -s -- one a=2", two: "bash -s -- two", four: "bash -s -- four" }),
  "units/a.service": "[Unit]\nDescription=a\n[Service]\nExecStart=/bin/b\n",
  "units/new.service": "[Unit]\n",
};

const diff = (before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>) =>
  renderedDiff("kpro5", { name: "`main` (`abc`)", files: before }, after);

test("names the steps that run again, and those that leave", () => {
  const { differs, comment } = diff(BEFORE, AFTER);
  expect(differs).toBe(true);
  expect(comment).toContain("2 steps will run: `one`, `four`.");
  expect(comment).toContain("1 step will leave the stack: `three`.");
});

test("shows each file's unified diff folded, new and gone files too, the list of steps last", () => {
  const { comment } = diff(BEFORE, AFTER);
  expect(comment).toMatch(
    /^<!-- proxmox-gpu-stack rendered kpro5 -->\n### Files of `kpro5`: 4 files differ\n/,
  );
  expect(comment).toContain("<details><summary><code>units/a.service</code> (+1 −1)</summary>");
  expect(comment).toContain(" [Service]\n-ExecStart=/bin/a\n+ExecStart=/bin/b\n");
  expect(comment).toContain("<code>units/new.service</code> (new, 1 line)");
  expect(comment).toContain("<code>units/old.service</code> (gone, 1 line)");
  expect(comment.indexOf("<code>steps.md")).toBeGreaterThan(comment.indexOf("<code>units/old.service"));
});

test("is the same text every time, whatever git is configured to do", () => {
  const first = diff(BEFORE, AFTER);
  process.env["GIT_EXTERNAL_DIFF"] = "/bin/false";
  process.env["GIT_CONFIG_COUNT"] = "1";
  process.env["GIT_CONFIG_KEY_0"] = "diff.context";
  process.env["GIT_CONFIG_VALUE_0"] = "0";
  try {
    expect(diff(BEFORE, AFTER)).toEqual(first);
  } finally {
    for (const name of ["GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"])
      Reflect.deleteProperty(process.env, name);
  }
});

test("says so when nothing differs", () => {
  const { differs, comment } = diff(BEFORE, { ...BEFORE });
  expect(differs).toBe(false);
  expect(comment).toContain("### Files of `kpro5`: no difference\n");
});

test("a text that changes without a step's command changing runs nothing", () => {
  expect(diff(BEFORE, { ...BEFORE, "topology.md": "x\n" }).comment).toContain("No step runs again.");
});

test("without anything to compare with, everything is new and the reason is there", () => {
  const before = { name: "`main`", files: undefined, reason: "it has no Pulumi.kpro5.yaml" };
  const { comment } = renderedDiff("kpro5", before, AFTER);
  expect(comment).toContain("Nothing to compare with in `main`: it has no Pulumi.kpro5.yaml.");
  expect(comment).toContain("3 steps will run");
});
