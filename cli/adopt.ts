import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { inspectStack, PROJECT_DIRECTORY } from "../config/load";
import { planContainers, type ContainerPlan } from "../plan/container-steps";
import { adoptedEntries, mountsOf } from "./adopt/entries";
import { contentsOf, contentsStep, type ContainerContents } from "./adopt/facts";
import { importFile } from "./adopt/import-file";
import { projectLocks } from "./adopt/locks";
import { nextCommands } from "./adopt/next-commands";
import { adoptionReport } from "./adopt/report";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";
import { factsOf, hostTarget, type InventoryOptions } from "./inventory";
import { entryNameOf } from "./inventory/container-block";
import { parseGuest } from "./inventory/guest-configuration";
import type { HostFacts } from "./inventory/host-facts";
import { stackFileText } from "./inventory/stack-file";
import { lookAt, type SshTarget } from "./remote/ssh";
import { say } from "./say";

export interface AdoptOptions extends Omit<InventoryOptions, "json"> {
  /** Ids, comma between. */
  readonly container: string;
  /** Where the stack file goes; default: standard output. */
  readonly out?: string;
}

function idsOf(text: string): string[] {
  const ids = text.split(",").map((word) => word.trim());
  const wrong = ids.find((id) => !/^[1-9]\d{2,8}$/.test(id));
  if (wrong !== undefined)
    throw new UsageError(`--container "${wrong}": ids of containers, such as 129 or 129,130`);
  return [...new Set(ids)];
}

/** `Pulumi.NAME.yaml`: Pulumi finds a stack's file by its name. */
function checkOut(out: string): void {
  if (!/^Pulumi\.[A-Za-z0-9._-]+\.yaml$/.test(path.basename(out)))
    throw new UsageError(`--out ${out}: a stack file is named Pulumi.STACK.yaml`);
  if (existsSync(out))
    throw new UsageError(`--out ${out} is there already: name another file, or move it away`);
}

async function contentsFrom(target: SshTarget, facts: HostFacts, ids: readonly string[]) {
  const contents = new Map<string, ContainerContents>();
  for (const id of ids) {
    const container = facts.containers.find((candidate) => candidate.id === id);
    if (container === undefined)
      throw new UsageError(
        `${facts.node} has no container ${id}: it has ${facts.containers.map((entry) => entry.id).join(", ") || "none"}`,
      );
    if (container.managed === "yes") throw new UsageError(`container ${id} is of a stack already`);
    if (container.status !== "running")
      throw new UsageError(`container ${id} is ${container.status}: start it, so that it can be looked into`);
    const mounts = mountsOf(container.configuration).map((mount) => mount.target);
    contents.set(id, contentsOf(await lookAt(target, contentsStep(Number(id), mounts))));
  }
  return contents;
}

const nameOf = (facts: HostFacts, id: string): string => {
  const configuration = facts.containers.find((container) => container.id === id)?.configuration ?? "";
  return entryNameOf(parseGuest(configuration).option("hostname") ?? `guest-${id}`);
};

/** The containers as the text of a stack file declares them; none while it has an error. */
function declaredContainers(text: string, source: string): ContainerPlan[] {
  const { config: values } = parse(text) as { config: Record<string, unknown> };
  const { config } = inspectStack(values, { source });
  return config === undefined ? [] : planContainers(config);
}

function writeFiles(
  out: string,
  text: string,
  facts: HostFacts,
  containers: readonly { name: string; id: string }[],
) {
  const stack = path.basename(out).slice("Pulumi.".length, -".yaml".length);
  const file = path.join(path.dirname(out), `adopt-${stack}.json`);
  writeFileSync(out, text);
  writeFileSync(file, `${JSON.stringify(importFile(stack, facts.node, containers), null, 2)}\n`);
  say(`written: ${out}, ${file}\n`);
  if (path.resolve(path.dirname(out)) !== PROJECT_DIRECTORY)
    say(
      `Pulumi finds a stack's file beside Pulumi.yaml: move ${out} to ${PROJECT_DIRECTORY} before the commands below\n`,
    );
  return { stack, stackFile: out, importFile: file };
}

/**
 * `./stack adopt root@HOST --container ID[,ID] [--out FILE]`: hand-made containers with what runs in them as a stack
 * file, the file for `pulumi import`, and what the first `up` would change. Nothing changes on the host.
 */
export async function adopt(host: string, options: AdoptOptions): Promise<ExitCode> {
  const target = hostTarget(host, options);
  const ids = idsOf(options.container);
  const { out } = options;
  if (out !== undefined) checkOut(out);
  const facts = await factsOf(target);
  const contents = await contentsFrom(target, facts, ids);
  const adopted = adoptedEntries(facts, contents, projectLocks(PROJECT_DIRECTORY));
  const text = stackFileText(target.address, facts, adopted);
  const report = adoptionReport(facts, contents, adopted, declaredContainers(text, out ?? "the stack file"));
  if (out === undefined) {
    process.stdout.write(text);
    say(
      `${report}\nWith --out Pulumi.${facts.node}.yaml it writes this file and the one for \`pulumi import\`, and says what to run.`,
    );
    return EXIT.fine;
  }
  const containers = ids.map((id) => ({ name: nameOf(facts, id), id }));
  const files = writeFiles(out, text, facts, containers);
  say(report);
  say(
    nextCommands(
      files,
      containers.map(({ name }) => name),
      adopted,
    ).trimEnd(),
  );
  return EXIT.fine;
}
