/** Findings that come from planning, not from a rule of the catalog. */
import { findFlag, readArguments, type Finding, type Release, type Severity } from "../../catalog";
import { ACTIVATION_MARGIN, draftBytes, type MemoryOutcome, type MemoryRequest } from "./memory";

/** A finding about a setting of the service. */
export function finding(
  id: string,
  severity: Severity,
  path: string,
  setting: string,
  message: string,
  fix: string,
  evidence = "the plan of this service",
): Finding {
  return { id, severity, path: `${path}.${setting}`, message, fix, evidence };
}

const POOLS =
  "SGLang's own pools: model_executor/model_runner_kv_cache_mixin.py (0.5.11), checked against a real start log";

const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** What the memory plan has to say: a refusal with its numbers, or what it had to change. */
export function memoryFindings(path: string, request: MemoryRequest, outcome: MemoryOutcome): Finding[] {
  const { memory } = outcome;
  const share = memory.available * memory.fraction;
  const estimated = memory.fractionIsEstimated ? " (estimated)" : "";
  const numbers =
    `each GPU has ${gib(memory.available)}, ${(memory.fraction * 100).toFixed(0)} %${estimated} of it are ${gib(share)}; weights take ${gib(memory.weights)}` +
    (memory.draftStates > 0 ? `, states of draft tokens ${gib(memory.draftStates)}` : "") +
    (memory.statePool > 0 ? `, recurrent states ${gib(memory.statePool)}` : "");
  if (outcome.kind === "refused") {
    const { contextLength, bytesPerToken } = memory;
    const needed = gib(contextLength * bytesPerToken);
    const message = `${contextLength} tokens of context need ${needed} of KV cache on each GPU and do not fit: ${numbers}; left are ${gib(Math.max(0, memory.keyValuePool))}`;
    const fix =
      outcome.largestContext > 0
        ? `set contextLength to ${outcome.largestContext} or less, raise memFractionStatic, or use more GPUs`
        : "the weights leave no room: use more GPUs, larger ones, or a smaller model";
    return [finding("memory", "error", path, "contextLength", message, fix, POOLS)];
  }
  const found: Finding[] = [];
  if (outcome.shortened) {
    const message = `the model's own context of ${request.contextLength} tokens does not fit, the plan takes ${memory.contextLength}: ${numbers}, KV cache ${gib(memory.keyValuePool)}`;
    found.push(
      finding(
        "memory-context",
        "info",
        path,
        "contextLength",
        message,
        "state contextLength, or raise memFractionStatic",
        POOLS,
      ),
    );
  }
  if (outcome.requests !== undefined && request.maxRunningRequests === undefined) {
    const message = `the server's 48 requests at once would leave no room for ${memory.contextLength} tokens of context; the plan takes ${outcome.requests}: ${numbers}, KV cache ${gib(memory.keyValuePool)}`;
    const fix = "for more requests at once set a smaller contextLength or a larger memFractionStatic";
    found.push(finding("memory-requests", "info", path, "maxRunningRequests", message, fix, POOLS));
  }
  const { maxRunningRequests: asked } = request;
  if (asked !== undefined && memory.maxRunningRequests !== undefined && memory.maxRunningRequests < asked) {
    const message = `the pools hold the recurrent states of ${memory.maxRunningRequests} requests at once, not of ${asked}: ${numbers}`;
    const fix = `set maxRunningRequests to ${memory.maxRunningRequests}, or a smaller contextLength`;
    found.push(finding("memory-requests", "warning", path, "maxRunningRequests", message, fix, POOLS));
  }
  const outside = memory.available - share;
  const draft = draftBytes(request, memory.tokens);
  // The server's own choice of the share has a margin of its own.
  if (!memory.fractionIsEstimated && outside < ACTIVATION_MARGIN + draft) {
    const message = `outside its share of ${gib(share)} the server has ${gib(outside)} for activations and graphs (${gib(ACTIVATION_MARGIN)}) and the draft's KV cache (${gib(draft)}): it will run out of memory under load`;
    found.push(
      finding("memory-margin", "error", path, "memFractionStatic", message, "lower memFractionStatic", POOLS),
    );
  }
  return found;
}

/** Flags of `extraArgs` that the plan states already: the later one would win silently. */
export function duplicateArguments(
  path: string,
  release: Release,
  planned: readonly string[],
  extra: readonly string[],
): Finding[] {
  const stated = new Set(planned.filter((argument) => argument.startsWith("--")));
  return [...readArguments(release, extra).values.keys()]
    .filter((name) => stated.has(findFlag(release, name)?.name ?? name))
    .map((name) =>
      finding(
        "duplicate-argument",
        "error",
        path,
        "extraArgs",
        `${name} is planned already from the service's own keys, and the later of the two would win silently`,
        "take it out and set the service's key for it",
      ),
    );
}
