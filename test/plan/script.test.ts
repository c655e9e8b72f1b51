import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import {
  librariesOf,
  SCRIPTS,
  shellWord,
  shortDigest,
  stepCommand,
  stepDigest,
  stepInput,
} from "../../plan/script";
import { HOST, inContainer, step } from "../../plan/step";

const example = step({
  name: "ml-attach",
  target: HOST,
  script: "host/container-attach",
  summary: "attach",
  timeoutMinutes: 1,
  args: { id: "129", mounts: "/srv/a b:/models:ro" },
  texts: { guard: "line one\nline 'two'" },
});

describe("the line of a step", () => {
  it("is readable, sorted, quoted, and carries a digest of the script", () => {
    expect(stepCommand(example)).toBe(
      `bash -s -- ml-attach id=129 'mounts=/srv/a b:/models:ro' script=${stepDigest(example)}`,
    );
  });

  it("reaches a container through pct with a clean environment", () => {
    const inside = step({ ...example, target: inContainer(129) });
    expect(stepCommand(inside)).toMatch(/^pct exec 129 --keep-env 0 -- bash -s -- ml-attach /);
  });

  it("names the mode when it is not apply", () => {
    expect(stepCommand(example, "remove")).toContain(" mode=remove ");
    expect(stepCommand(example)).not.toContain("mode=");
  });

  it("changes when a text changes and not when a secret does", () => {
    const other = step({ ...example, texts: { guard: "another" } });
    expect(stepDigest(other)).not.toBe(stepDigest(example));
    expect(stepInput(example, { huggingFaceToken: "a" })).not.toBe(stepInput(example));
    expect(stepCommand(example)).not.toContain("huggingFaceToken");
  });
});

describe("a value that travels to a machine", () => {
  it.each([
    "plain",
    "two words",
    `both 'kinds' of "quotes"`,
    "$HOME $(id) `id` \\ back",
    "a\nnewline and ünïcode",
    "-leading-dash",
    "",
  ])("arrives unchanged: %j", (value) => {
    const script = `value=${shellWord(value)}; printf '%s' "$value"`;
    expect(execFileSync("bash", ["-c", script], { encoding: "utf8" })).toBe(value);
  });
});

describe("shortDigest", () => {
  it("tells apart texts that are equal when joined", () => {
    expect(shortDigest("ab", "c")).not.toBe(shortDigest("a", "bc"));
  });
});

const scripts = ["host", "container"].flatMap((folder) =>
  readdirSync(join(SCRIPTS, folder)).map((file) => `${folder}/${file.replace(/\.sh$/, "")}`),
);

describe.each(scripts)("the script %s", (script) => {
  const composed = stepInput(step({ name: "x", target: HOST, script, summary: "", timeoutMinutes: 1 }));
  const text = readFileSync(join(SCRIPTS, `${script}.sh`), "utf8");

  it("is sound bash when put together with what it uses", () => {
    const result = spawnSync("bash", ["-n"], { input: composed, encoding: "utf8" });
    expect(result.stderr).toBe("");
  });

  it("defines check and apply, and calls nothing that its libraries do not have", () => {
    expect(text).toMatch(/^step_check\(\) \{/m);
    // A step that never finds a difference only looks, and has nothing to apply.
    const onlyLooks = !/\b(differs|check_text)\b/.test(text);
    expect(onlyLooks || /^step_apply\(\) \{/m.test(text)).toBe(true);
    const defined = new Set([...composed.matchAll(/^([a-z_]+)\(\) \{/gm)].map((match) => match[1]));
    const library = new Set(
      readdirSync(join(SCRIPTS, "lib")).flatMap((file) =>
        [...readFileSync(join(SCRIPTS, "lib", file), "utf8").matchAll(/^([a-z_]+)\(\) \{/gm)].map(
          (m) => m[1],
        ),
      ),
    );
    const called = [...text.matchAll(/(?:^|[\s(!|&;])([a-z]+(?:_[a-z]+)+)(?=\s|$|\))/gm)].map(
      (match) => match[1],
    );
    expect(called.filter((name) => library.has(name) && !defined.has(name))).toEqual([]);
  });

  it("names only arguments that its header documents", () => {
    const header = text.slice(0, text.search(/^[^#\n]/m));
    const read = new Set([...text.matchAll(/\bargument ([a-zA-Z]+)/g)].map((match) => match[1] ?? ""));
    expect([...read].filter((name) => !header.includes(name))).toEqual([]);
  });

  it("uses libraries that exist", () => {
    const available = readdirSync(join(SCRIPTS, "lib")).map((file) => file.replace(/\.sh$/, ""));
    expect(available).toEqual(expect.arrayContaining(librariesOf(text)));
  });
});
