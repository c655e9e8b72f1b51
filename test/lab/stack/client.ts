import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { LabStack } from "./lab-stack";

/** Asks until it is ended, and writes a line for each answer: `ok`, or `failed`. */
const LOOP = `
while true; do
  answer=$(curl --fail --silent --max-time 10 --header 'content-type: application/json' --data "$2" "$1/v1/chat/completions" || true)
  if [[ $answer =~ \\"content\\":.*(4|four) ]]; then echo ok; else echo failed; fi >>"$3"
  sleep 0.2
done`;

const QUESTION = JSON.stringify({
  model: "qwen3.6-tiny",
  messages: [{ role: "user", content: "What is 2 and 2?" }],
  chat_template_kwargs: { enable_thinking: false },
});

export interface Answers {
  readonly good: number;
  readonly failed: number;
  /** How often good answers were followed by failed ones. */
  readonly outages: number;
}

/** What a client gets that asks a service all the time, from beside the hosts, while something is done. */
export function askedMeanwhile(stack: LabStack, act: () => void): Answers {
  const file = join(stack.folder, `answers-${Date.now()}`);
  const client = spawn("bash", ["-c", LOOP, "client", stack.endpoint(), QUESTION, file], { stdio: "ignore" });
  try {
    act();
  } finally {
    client.kill("SIGKILL");
  }
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return {
    good: lines.filter((line) => line === "ok").length,
    failed: lines.filter((line) => line === "failed").length,
    outages: lines.filter((line, at) => line === "failed" && lines[at - 1] === "ok").length,
  };
}
