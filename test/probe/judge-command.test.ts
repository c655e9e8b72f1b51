import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { judgeFile } from "../../cli/judge";

const folder = mkdtempSync(join(tmpdir(), "judge-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const file = (name: string, value: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
};

const completion = (content: string | null, reasoning: string | null = null, finish = "stop") => ({
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content, reasoning_content: reasoning },
      finish_reason: finish,
    },
  ],
  usage: { completion_tokens: 20 },
});

const verdicts = async (value: unknown) => {
  const result = await judgeFile(file("answers.json", value), true);
  expect(result.errors).toBe("");
  const parsed = JSON.parse(result.output) as { verdicts: { healthy: boolean; reasons: string[] }[] };
  return { exitCode: result.exitCode, verdicts: parsed.verdicts };
};

test("a healthy chat completion is one healthy verdict and exit code 0", async () => {
  const result = await verdicts(completion("The capital of France is Paris."));
  expect(result.exitCode).toBe(0);
  expect(result.verdicts).toMatchObject([{ healthy: true, reasons: [] }]);
});

test("one degenerate answer among good ones gives exit code 1 and its reason", async () => {
  const loop = "The user is asking for the result of 2+2. ".repeat(30);
  for (const answers of [
    [completion("4"), completion(null, loop, "length")],
    { answers: [completion("4"), completion(null, loop, "length")] },
    [
      { content: "4", reasoning_content: null, finish_reason: "stop" },
      { content: null, reasoning_content: loop, finish_reason: "length", completion_tokens: 300 },
    ],
  ]) {
    const result = await verdicts(answers);
    expect(result.exitCode).toBe(1);
    expect(result.verdicts.map((verdict) => verdict.healthy)).toEqual([true, false]);
    expect(result.verdicts[1]?.reasons.join()).toMatch(/sentence-loop: reasoning_content/);
  }
});

test("a truncated but coherent answer is a limit too small, not degenerate", async () => {
  const result = await verdicts(completion("A prime number is a whole number that", null, "length"));
  expect(result.verdicts).toMatchObject([{ healthy: false, degenerate: false, limitTooSmall: true }]);
  expect(result.verdicts[0]?.reasons.join()).toMatch(/limit too small/);
});

test("an answer that carries its question is judged by it", async () => {
  const question = { prompt: "What is 17 times 23?", expect: { kind: "number", value: 391 } };
  const result = await verdicts([{ ...completion("2+2 equals 4."), question }]);
  expect(result.verdicts[0]?.reasons.join()).toMatch(/wrong-answer: expected 391/);
});

test("without --json there is one line an answer, and a sum", async () => {
  const result = await judgeFile(
    file("text.json", [completion("4"), completion("!".repeat(200), null, "length")]),
  );
  expect(result.exitCode).toBe(1);
  expect(result.output).toMatch(/^1: healthy\n2: word-loop: content: "!" 200 times/);
  expect(result.output).toMatch(/1 of 2 healthy\n$/);
});

test.each([
  ["no such file", join(folder, "missing.json"), /cannot be read/],
  ["no JSON", file("broken.json", "{"), /is not JSON/],
  ["no answer", file("empty.json", { answers: [] }), /holds no chat answer/],
  [
    "something else",
    file("other.json", [completion("4"), { id: 1 }]),
    /answer 2 has neither choices nor content/,
  ],
])("%s is a wrong use: exit code 3 and one clear error", async (_name, path, message) => {
  const result = await judgeFile(path, true);
  expect(result).toMatchObject({ exitCode: 3, output: "" });
  expect(result.errors).toMatch(message);
  expect(result.errors).toContain(path);
});
