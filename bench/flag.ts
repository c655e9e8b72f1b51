/** One changed flag of a service that runs: an `up`, beside a restart by hand of what is there, both to an answer. */
import { join } from "node:path";

import { PROJECT, type LabStack } from "../test/lab/stack/lab-stack";
import { seconds, table } from "./hyperfine";

/** Factors on the recorded times of a real server's start: as the lab has it, and as long as a real one with a small model. */
const TIME_SCALES = ["0.02", "1"];

/** What every comparison asks. */
export const QUESTION = JSON.stringify({
  model: "qwen3.6-tiny",
  messages: [{ role: "user", content: "What is 2 and 2? Answer in one short sentence." }],
  chat_template_kwargs: { enable_thinking: false },
});

/** Waits on the host until a server with so many steps answers a question. */
function answers(url: string, steps: number): string {
  const curl = "curl --fail --silent --max-time 600";
  return [
    `until ${curl} ${url}/server_info | grep -qE '"speculative_num_steps": ?${steps}\\b'; do sleep 0.05; done`,
    `until ${curl} ${url}/v1/chat/completions --header 'content-type: application/json' --data '${QUESTION}' >/dev/null; do sleep 0.05; done`,
  ].join("; ");
}

/**
 * The table of what a changed flag costs, on a lab whose stack is deployed.
 *
 * @param up the command line that brings the stack's changes to the host
 */
export async function flagChange(lab: LabStack, up: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const service = (change: (values: Record<string, unknown>) => void): void => {
    lab.edit((file) => {
      change(file.services?.qwen as Record<string, unknown>);
    });
  };
  const onHost = (line: string): Promise<number> =>
    seconds(join(PROJECT, "lab/lab"), ["shell", "pve1", line], environment);
  const deploy = (): Promise<number> => seconds("bash", ["-c", up], environment);
  const rows: (readonly string[])[] = [];
  for (const scale of TIME_SCALES) {
    service((values) => {
      values.env = { LAB_SGLANG_TIME_SCALE: scale };
      values.speculative = { algorithm: "nextn", steps: 3, topk: 1 };
    });
    await deploy();
    const restart = "pct exec 129 -- systemctl restart sglang-qwen.service";
    const byHand = await onHost(`${restart}; ${answers(lab.endpoint(), 3)}`);
    service((values) => {
      values.speculative = { algorithm: "nextn", steps: 2, topk: 1 };
    });
    const [whole, answered] = await Promise.all([deploy(), onHost(answers(lab.endpoint(), 2))]);
    rows.push([
      scale,
      ...[byHand, answered, whole].map((value) => value.toFixed(1)),
      (answered / byHand).toFixed(2),
      (whole / byHand).toFixed(2),
    ]);
  }
  lab.reset();
  const head = [
    "start's length",
    "restart by hand [s]",
    "up: answers [s]",
    "up: gate passed [s]",
    "answers, ratio",
    "gate passed, ratio",
  ];
  return `### One changed flag\n\n${table(head, rows)}Goal: 1.10 of the restart by hand to an answer.\n\n`;
}
