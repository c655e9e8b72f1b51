/** From choices to the argument list of one release. */
import { findFlag, isValueless, type Release } from "../../catalog";
import type { Choices } from "./choices";
import type { MemoryPlan, ServiceInput } from "./types";

/** A flag as the plan wants it; `true` for one without a value. */
interface Wanted {
  /** Spellings, newest first: the first that the release knows is used. */
  readonly names: readonly string[];
  readonly value: string | number | true | undefined;
}

/** An argument list, and what /server_info will say about it. */
export interface CommandLine {
  readonly args: readonly string[];
  readonly expected: Readonly<Record<string, string | number | boolean>>;
  /** Flags that the plan wanted and the release does not know. */
  readonly unknown: readonly string[];
}

/** Values that the server reports in another form than they are stated. */
const RESOLVED: ReadonlyMap<unknown, string> = new Map([["NEXTN", "EAGLE"]]);

const ALGORITHMS = { nextn: "NEXTN", eagle3: "EAGLE3" } as const;

function wanted(
  { service }: ServiceInput,
  choices: Choices,
  memory: MemoryPlan | undefined,
  requests: number | undefined,
): Wanted[] {
  const { speculative, nodes, startTimeoutMinutes } = service;
  const flag = (names: string | readonly string[], value: Wanted["value"]): Wanted => ({
    names: typeof names === "string" ? [names] : names,
    value,
  });
  const context = memory?.contextLength !== undefined && choices.contextLength !== undefined;
  return [
    flag("--model-path", service.modelPath),
    flag("--served-model-name", service.servedModelName),
    flag("--host", service.listen),
    flag("--port", service.port),
    flag("--tp-size", choices.tensorParallel),
    flag("--nnodes", nodes?.count),
    flag("--node-rank", nodes?.rank),
    flag("--dist-init-addr", nodes === undefined ? undefined : `${nodes.address}:${nodes.port}`),
    // The nodes wait for each other as long as loading may take: one may read its weights from a slower disk.
    flag("--dist-timeout", nodes === undefined ? undefined : (startTimeoutMinutes ?? 30) * 60),
    flag("--context-length", context ? memory.contextLength : choices.contextLength),
    flag("--mem-fraction-static", choices.memFractionStatic),
    flag("--max-running-requests", service.maxRunningRequests ?? requests),
    flag("--reasoning-parser", choices.reasoningParser),
    flag("--tool-call-parser", choices.toolCallParser),
    flag("--quantization", choices.quantization),
    flag("--attention-backend", choices.attentionBackend),
    flag("--moe-runner-backend", choices.moeRunner),
    flag("--fp4-gemm-backend", choices.fp4Gemm),
    flag("--kv-cache-dtype", choices.keyValueType),
    flag(
      "--speculative-algorithm",
      speculative === undefined ? undefined : ALGORITHMS[speculative.algorithm],
    ),
    flag("--speculative-draft-model-path", service.draftModelPath),
    flag("--speculative-num-steps", speculative?.steps),
    flag("--speculative-eagle-topk", speculative?.topk),
    flag("--speculative-num-draft-tokens", choices.draftTokens),
    flag(["--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"], choices.scheduler),
    flag("--mamba-full-memory-ratio", memory?.stateRatio),
    flag("--disable-custom-all-reduce", service.disableCustomAllReduce === true ? true : undefined),
    flag("--enable-metrics", service.metrics ? true : undefined),
  ];
}

/** The argument list in the release's own spelling, without `extraArgs`. */
export function commandLine(
  input: ServiceInput,
  choices: Choices,
  release: Release,
  memory: MemoryPlan | undefined,
  requests: number | undefined,
): CommandLine {
  const args: string[] = [];
  const expected: Record<string, string | number | boolean> = {};
  const unknown: string[] = [];
  for (const { names, value } of wanted(input, choices, memory, requests)) {
    if (value === undefined) continue;
    const flag = names.map((name) => findFlag(release, name)).find((found) => found !== undefined);
    if (flag === undefined) {
      unknown.push(names[0] as string);
      continue;
    }
    args.push(flag.name, ...(isValueless(flag) ? [] : [String(value)]));
    expected[flag.dest ?? flag.name.slice(2).replaceAll("-", "_")] = RESOLVED.get(value) ?? value;
  }
  return { args, expected, unknown };
}
