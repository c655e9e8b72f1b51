import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { assess } from "../../cli/findings";
import { stackFileOf } from "../../cli/stack-argument";
import { renderStack } from "../../plan/render/stack";

const GOLDEN = path.join(__dirname, "../golden");

/**
 * What a stack puts on machines, for review. Left out: steps.md, whose digests change with every script (its own test
 * below), and the specifications, which the planner's tests hold. UPDATE_GOLDEN=1 writes the files anew.
 */
function reviewed(stack: string): Record<string, string> {
  const { config, plan, problems } = assess(stackFileOf(stack));
  if (config === undefined || plan === undefined) throw new Error(JSON.stringify(problems));
  const files = Object.entries(renderStack(config, plan)).filter(
    ([file]) => file !== "steps.md" && !file.startsWith("specifications/"),
  );
  // The digest of an environment changes with its lock.
  return Object.fromEntries(files.map(([file, text]) => [file, text.replace(/`[0-9a-f]{12}`/g, "`DIGEST`")]));
}

function golden(stack: string): Record<string, string> {
  const folder = path.join(GOLDEN, stack);
  if (!existsSync(folder)) return {};
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        return [path.relative(folder, file), readFileSync(file, "utf8")];
      }),
  );
}

function update(stack: string, files: Readonly<Record<string, string>>): void {
  rmSync(path.join(GOLDEN, stack), { recursive: true, force: true });
  for (const [file, text] of Object.entries(files)) {
    const target = path.join(GOLDEN, stack, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

test.each(["kpro5", "kpro6", "lab"])(
  "%s renders to the reviewed files (UPDATE_GOLDEN=1 writes them anew)",
  (stack) => {
    const files = reviewed(stack);
    if (process.env["UPDATE_GOLDEN"] === "1") update(stack, files);
    expect(files).toEqual(golden(stack));
  },
);

test.each(["kpro5", "kpro6", "lab", "example"])("%s renders the same twice", (stack) => {
  expect(reviewed(stack)).toEqual(reviewed(stack));
});

test("kpro5's rendering holds nothing of kpro6", () => {
  const text = Object.values(reviewed("kpro5")).join("\n");
  for (const foreign of ["kpro6", "NVFP4", "modelopt", "NCCL", "pro6000", "--tp-size 8"])
    expect(text).not.toContain(foreign);
});

test("kpro6's two services stop each other", () => {
  const files = reviewed("kpro6");
  expect(files["units/sglang-qwen.service"]).toContain("\nConflicts=sglang-kimi.service\n");
  expect(files["units/sglang-kimi.service"]).toContain("\nConflicts=sglang-qwen.service\n");
});
