/** Plans an inference service: arguments, environment, memory, and what the rules say. Plain data in and out. */
import {
  acknowledge,
  evaluateRules,
  gpuByName,
  GPUS,
  loadRelease,
  NEWEST_RELEASE,
  parseBuild,
  readArguments,
  readSettings,
  releaseOf,
  RELEASES,
  type Build,
  type Facts,
  type Finding,
  type Gpu,
  type Release,
} from "../../catalog";
import { nearest } from "../../config/suggest";
import { choose, environment, type Choices } from "./choices";
import { commandLine, type CommandLine } from "./command-line";
import { duplicateArguments, finding, memoryFindings } from "./findings";
import { freeMiB, planMemory, type MemoryOutcome, type MemoryRequest } from "./memory";
import type { ServiceInput, ServicePlan } from "./types";

export { serviceInput } from "./input";
export type { MemoryPlan, PlannedModel, ServiceInput, ServicePlan } from "./types";

/** The build, its data, and what is to be said about a build that the catalog does not hold. */
function resolveBuild(input: ServiceInput): { build: Build; release: Release; findings: Finding[] } {
  const stated = input.service.release;
  const build = stated === undefined ? undefined : parseBuild(stated);
  const release = build === undefined ? undefined : releaseOf(build);
  if (build !== undefined && release !== undefined) return { build, release, findings: [] };
  const fallback = {
    build: { kind: "release", version: NEWEST_RELEASE } as Build,
    release: loadRelease(NEWEST_RELEASE),
  };
  if (stated === undefined) return { ...fallback, findings: [] };
  const message = `the catalog does not know SGLang ${stated}: nothing can be said about it`;
  const fix = /^[0-9a-f]{7,40}$/.test(stated)
    ? "add the commit with its date to catalog/builds.ts"
    : `use one of ${RELEASES.join(", ")}, or ./stack catalog add-release ${stated}`;
  return {
    ...fallback,
    findings: [finding("release-unknown", "error", input.path, "release", message, fix)],
  };
}

/** The model of the cards: the weakest, when they differ. */
function resolveGpu(input: ServiceInput): { gpu: Gpu | undefined; findings: Finding[] } {
  const names = [...new Set(input.gpus)];
  const known = names.flatMap((name) => gpuByName(name) ?? []);
  const unknown = names.filter((name) => gpuByName(name) === undefined);
  const findings = unknown.map((name) => {
    const all = GPUS.map((gpu) => gpu.name);
    const suggestion = nearest(name, all);
    const message = `the catalog does not know the GPU ${name}; it knows ${all.join(", ")}`;
    const fix = suggestion === undefined ? "add it to catalog/gpus.ts" : `did you mean ${suggestion}?`;
    return finding("gpu-unknown", "warning", input.path, "gpus", message, fix);
  });
  if (known.length > 1) {
    const message = `the cards differ (${names.join(", ")}): every one is used like the smallest`;
    findings.push(
      finding("gpus-differ", "warning", input.path, "gpus", message, "use equal cards for one service"),
    );
  }
  return { gpu: known.sort((a, b) => a.memoryGiB - b.memoryGiB)[0], findings };
}

/** The memory of the planned service; undefined when the GPU or the size of the model is not known. */
function memoryOf(
  input: ServiceInput,
  choices: Choices,
  build: Build,
  gpu: Gpu | undefined,
): { request: MemoryRequest; outcome: MemoryOutcome } | undefined {
  const { model, service } = input;
  const weightsBytes = model?.weightsBytes;
  if (model === undefined || weightsBytes === undefined || gpu === undefined) return undefined;
  const request: MemoryRequest = {
    build,
    gpu,
    model: { ...model, weightsBytes },
    draftModel: input.draftModel,
    tensorParallel: choices.tensorParallel,
    fraction: choices.memFractionStatic,
    contextLength: choices.contextLength ?? model.contextLength,
    contextIsStated: service.contextLength !== undefined,
    keyValueType: choices.keyValueType ?? "auto",
    draftTokens: choices.draftTokens,
    maxRunningRequests: service.maxRunningRequests,
    stateRatio: undefined,
    extraBuffer: choices.scheduler?.startsWith("extra_buffer") === true,
  };
  return { request, outcome: planMemory(request) };
}

function factsOf(
  input: ServiceInput,
  build: Build,
  release: Release,
  gpu: Gpu | undefined,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Facts {
  const read = readArguments(release, args);
  const home = env["CUDA_HOME"];
  return {
    path: input.path,
    build,
    release,
    arguments: read,
    extraArgs: input.service.extraArgs,
    settings: readSettings(read),
    // The unit puts $CUDA_HOME/bin into PATH unless the owner states one.
    env: home === undefined ? env : { PATH: `${home}/bin`, ...env },
    gpu,
    gpuCount: input.gpus.length * (input.service.nodes?.count ?? 1),
    model: input.model,
    draftModel: input.draftModel,
    patches: input.patches ?? [],
    packages: input.packages,
    python: input.python,
  };
}

function planFindings(input: ServiceInput, line: CommandLine, release: Release): Finding[] {
  const unsupported = line.unknown.map((name) =>
    finding(
      "unsupported-setting",
      "error",
      input.path,
      "release",
      `SGLang ${release.version} has no ${name}, which this service needs`,
      "use a newer release, or leave the setting out",
    ),
  );
  if (input.model !== undefined) return unsupported;
  const message =
    "neither the catalog nor a description knows the model: memory and most rules are not checked";
  const fix = "./stack describe-model REPO, or set the model's catalog key";
  return [...unsupported, finding("model-unknown", "warning", input.path, "model", message, fix)];
}

/**
 * Plans a service.
 *
 * Never throws for what an owner can get wrong: every refusal is a finding of severity "error", beside the
 * arguments that would have been used.
 */
export function planService(input: ServiceInput): ServicePlan {
  const { build, release, findings: buildFindings } = resolveBuild(input);
  const { gpu, findings: gpuFindings } = resolveGpu(input);
  const choices = choose(input, gpu);
  const memory = memoryOf(input, choices, build, gpu);
  const outcome = memory?.outcome;
  const shortened = outcome?.kind === "fits" && outcome.shortened;
  const chosen = shortened ? { ...choices, contextLength: outcome.memory.contextLength } : choices;
  const requests = outcome?.kind === "fits" ? outcome.requests : undefined;
  const line = commandLine(input, chosen, release, outcome?.memory, requests);
  const args = [...line.args, ...input.service.extraArgs];
  const env = environment(input, choices, build, gpu);
  const findings = [
    ...buildFindings,
    ...gpuFindings,
    ...planFindings(input, line, release),
    ...(memory === undefined ? [] : memoryFindings(input.path, memory.request, memory.outcome)),
    ...duplicateArguments(input.path, release, line.args, input.service.extraArgs),
    ...(buildFindings.length > 0 ? [] : evaluateRules(factsOf(input, build, release, gpu, args, env))),
  ];
  const { thinking, nonThinking } = input.model?.sampling ?? {};
  const sampling = { ...(thinking && { thinking }), ...(nonThinking && { nonThinking }) };
  const planned = outcome?.kind === "fits" ? outcome.memory : undefined;
  return {
    args,
    env,
    ...(input.service.release !== undefined && build.kind === "release"
      ? { expectedVersion: input.service.release }
      : {}),
    expectedServerInfo: line.expected,
    findings: acknowledge(findings, input.service.acknowledge, input.path),
    ...(outcome === undefined ? {} : { memory: outcome.memory }),
    ...(planned === undefined || planned.fractionIsEstimated
      ? {}
      : { plannedMaxTotalTokens: planned.tokens }),
    ...(planned === undefined ? {} : { freeMiBPerGpu: freeMiB(planned) }),
    ...(input.model?.weightsBytes === undefined ? {} : { weightsBytes: input.model.weightsBytes }),
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
  };
}
