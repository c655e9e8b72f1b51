import { stepCommand } from "../script";
import type { Step } from "../step";
import { code, table } from "./markdown";

function place(step: Step): string {
  return step.target.kind === "host" ? "host" : `container ${step.target.vmId}`;
}

/** What a step runs with, each value on its own line: a changed value is a changed line. */
function details(step: Step): string {
  const args = Object.keys(step.args)
    .sort()
    .map((name) => `${name}=${step.args[name] ?? ""}`);
  const secrets =
    step.secrets.length === 0 ? [] : [`secrets on standard input, when set: ${step.secrets.join(", ")}`];
  const texts = Object.keys(step.texts).sort();
  const travelling = texts.length === 0 ? [] : [`texts on standard input: ${texts.join(", ")}`];
  return [
    `## ${step.name}`,
    `${step.summary} (${place(step)}, ${code(`scripts/${step.script}.sh`)})`,
    `\`\`\`text\n${args.join("\n")}\n\`\`\``,
    ...[...travelling, ...secrets].map((text) => `- ${text}`),
    `\`\`\`sh\n${stepCommand(step)}\n\`\`\``,
  ].join("\n\n");
}

/** steps.md: every step in the order of a first `up`, then each with its values and the line that runs it. */
export function renderSteps(source: string, steps: readonly Step[]): string {
  const rows = steps.map((step, index) => [
    String(index + 1),
    code(step.name),
    place(step),
    code(step.script),
    `${step.timeoutMinutes} min`,
    step.summary,
  ]);
  return `${[
    `# Steps of ${source}`,
    "In the order of a first `up`. Each is checked first and applied only where something differs.",
    table(["#", "step", "runs on", "script", "limit", "does"], rows),
    ...steps.map(details),
  ].join("\n\n")}\n`;
}

/** The command line of each step in a text that `renderSteps` made, by the step's name. */
export function renderedCommands(text: string): Map<string, string> {
  const sections = text.matchAll(/^## (?<name>\S+)$(?<body>[\s\S]*?)(?=^## |$(?![\s\S]))/gm);
  return new Map(
    [...sections].flatMap(({ groups }) => {
      const command = /^```sh\n([\s\S]*?)\n```$/m.exec(groups?.["body"] ?? "")?.[1];
      return groups?.["name"] === undefined || command === undefined ? [] : [[groups["name"], command]];
    }),
  );
}
