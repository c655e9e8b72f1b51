/** From the command line of a hand-written unit to the settings of a service. */
import { findFlag, isValueless, parseBuild, readArguments, releaseOf, type Release } from "../../catalog";
import { loadRelease, NEWEST_RELEASE } from "../../catalog/releases";
import { readUnit, serverCommand } from "./unit";
import type { UnitFacts } from "./facts";

/** A server that runs, or would run, in a container by somebody's own unit. */
export interface FoundServer {
  readonly unit: string;
  /** Interpreter or program that runs it. */
  readonly program: string;
  readonly modelPath: string | undefined;
  readonly draftModelPath: string | undefined;
  /** Keys of `services.<name>`, but for environment, model and `replaces`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What a reader should know, one line each. */
  readonly notes: readonly string[];
}

const SECRET = /(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|PRIVATE_?KEY)(_|$)/i;

/** Variables that the stack's own unit sets, or that only make sense for the old environment. */
const OWN_VARIABLES = new Set([
  "PATH",
  "HOME",
  "VIRTUAL_ENV",
  "PYTHONPATH",
  "CUDA_DEVICE_ORDER",
  "SGLANG_ENABLE_SPEC_V2",
]);

/** Settings that are one word or number, by the flag's newest spelling and older ones. */
const PLAIN: Readonly<Record<string, string>> = {
  "--port": "port",
  "--tp-size": "tensorParallel",
  "--tensor-parallel-size": "tensorParallel",
  "--context-length": "contextLength",
  "--mem-fraction-static": "memFractionStatic",
  "--kv-cache-dtype": "kvCacheDtype",
  "--attention-backend": "attentionBackend",
  "--moe-runner-backend": "moeRunnerBackend",
  "--fp4-gemm-backend": "fp4GemmBackend",
  "--fp4-gemm-runner-backend": "fp4GemmBackend",
  "--quantization": "quantization",
  "--mamba-scheduler-strategy": "mambaScheduler",
  "--mamba-radix-cache-strategy": "mambaScheduler",
  "--reasoning-parser": "reasoningParser",
  "--tool-call-parser": "toolCallParser",
  "--max-running-requests": "maxRunningRequests",
};

const SPECULATIVE: Readonly<Record<string, string>> = {
  "--speculative-num-steps": "steps",
  "--speculative-eagle-topk": "topk",
  "--speculative-num-draft-tokens": "draftTokens",
};

/** Flags that hold a secret: never written down. */
const SECRET_FLAGS = ["--api-key", "--admin-api-key", "--ssl-keyfile-password"];

const value = (text: string): string | number => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** The release whose flags count. */
function releaseFor(version: string | undefined, notes: string[]): Release {
  const build = version === undefined ? undefined : parseBuild(version);
  const release = build === undefined ? undefined : releaseOf(build);
  if (release !== undefined) return release;
  notes.push(
    `the catalog does not know the SGLang that it runs (${version ?? "none was found"}): its arguments were read as ${NEWEST_RELEASE}'s`,
  );
  return loadRelease(NEWEST_RELEASE);
}

/** Arguments as their release reads them, spelt out; what it does not know stays as it was written. */
function read(release: Release, args: readonly string[], notes: string[]) {
  const { values, problems } = readArguments(release, args);
  const unread = problems
    .filter(({ kind }) => kind === "removed" || kind === "unknown" || kind === "ambiguous")
    .map(({ argument, message }) => {
      notes.push(message);
      return argument;
    });
  return { values: new Map(values), unread };
}

function speculativeOf(values: Map<string, readonly string[]>, notes: string[]) {
  const algorithm = values.get("--speculative-algorithm")?.[0]?.toUpperCase();
  const draftModelPath = values.get("--speculative-draft-model-path")?.[0];
  const numbers = Object.entries(SPECULATIVE).flatMap(([flag, key]) => {
    const number = values.get(flag)?.[0];
    return number === undefined ? [] : [[key, value(number)] as const];
  });
  const known: Readonly<Record<string, string>> = { NEXTN: "nextn", EAGLE: "nextn", EAGLE3: "eagle3" };
  const name = algorithm === undefined ? undefined : known[algorithm];
  const own = algorithm === "EAGLE" && draftModelPath !== undefined;
  if (name === undefined || own) {
    if (algorithm !== undefined)
      notes.push(
        `speculative decoding by ${algorithm}${own ? " with a draft model" : ""} has no key of its own: extraArgs`,
      );
    return { draftModelPath: undefined, setting: {} };
  }
  for (const flag of [
    "--speculative-algorithm",
    "--speculative-draft-model-path",
    ...Object.keys(SPECULATIVE),
  ])
    values.delete(flag);
  const filled = { steps: 3, topk: 1, ...Object.fromEntries(numbers) };
  if (numbers.length < 2)
    notes.push("steps and topk of its speculative decoding were left to SGLang: 3 and 1 stand for them");
  return { draftModelPath, setting: { speculative: { algorithm: name, ...filled } } };
}

function variables(environment: Readonly<Record<string, string>>, notes: string[]): Record<string, unknown> {
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => {
      if (SECRET.test(name))
        notes.push(
          `its variable ${name} looks like a secret: pulumi config set --secret …, never in this file`,
        );
      else if (name === "CUDA_VISIBLE_DEVICES")
        notes.push("its CUDA_VISIBLE_DEVICES chose cards: if not all of the container's, name them in gpus");
      else return !OWN_VARIABLES.has(name);
      return false;
    }),
  );
  return Object.keys(env).length === 0 ? {} : { env };
}

/** A name that clients may ask for: without spaces and colons. */
function servedName(stated: string | undefined, modelPath: string | undefined, notes: string[]): string {
  const name = stated ?? modelPath ?? "model";
  const usable = name.replace(/[\s:]+/g, "-");
  if (usable !== name) notes.push(`its served name "${name}" holds what no name may: "${usable}" instead`);
  return usable;
}

function settingsOf(
  values: Map<string, readonly string[]>,
  release: Release,
  unread: readonly string[],
  notes: string[],
) {
  const take = (flag: string): string | undefined => {
    const found = values.get(flag)?.[0];
    values.delete(flag);
    return found;
  };
  const modelPath = take("--model-path");
  const settings: Record<string, unknown> = {
    servedModelName: servedName(take("--served-model-name"), modelPath, notes),
  };
  const listen = take("--host") ?? "127.0.0.1";
  if (listen !== "0.0.0.0") settings["listen"] = listen === "localhost" ? "127.0.0.1" : listen;
  for (const [flag, key] of Object.entries(PLAIN)) {
    const found = take(flag);
    if (found !== undefined) settings[key] = value(found);
  }
  if (values.delete("--disable-custom-all-reduce")) settings["disableCustomAllReduce"] = true;
  if (!values.delete("--enable-metrics"))
    notes.push("metrics are on from now on (/metrics); metrics: false leaves them off");
  const { draftModelPath, setting } = speculativeOf(values, notes);
  const rest = [...values].flatMap(([flag, given]) => {
    const known = findFlag(release, flag);
    return known !== undefined && isValueless(known) ? [flag] : [flag, ...given];
  });
  const extraArgs = [...rest, ...unread];
  return {
    modelPath,
    draftModelPath,
    settings: { ...settings, ...setting, ...(extraArgs.length > 0 ? { extraArgs } : {}) },
  };
}

/** Arguments without those that hold a secret. */
function withoutSecrets(args: readonly string[]): string[] {
  return args.filter(
    (word, index) =>
      !SECRET_FLAGS.some((flag) => word === flag || word.startsWith(`${flag}=`) || args[index - 1] === flag),
  );
}

/**
 * The server of a unit; undefined when the unit runs none of SGLang's.
 *
 * @param releaseIn the SGLang release that an interpreter's environment holds
 */
export function foundServer(
  unit: UnitFacts,
  releaseIn: (program: string) => string | undefined,
): FoundServer | undefined {
  const written = readUnit(unit.text);
  const notes: string[] = [];
  let server = serverCommand(written.command);
  if (server === undefined) {
    server = serverCommand(unit.running);
    if (server === undefined) return undefined;
    notes.push("its arguments were read from the running process: its ExecStart= runs a script");
  }
  const release = releaseFor(releaseIn(server.program), notes);
  const { values, unread } = read(release, withoutSecrets(server.args), notes);
  if (server.args.some((word) => SECRET_FLAGS.includes(word.split("=")[0] ?? "")))
    notes.push(
      "it has a key on its command line: pulumi config set --secret proxmox-gpu-stack:serviceApiKey",
    );
  const { modelPath, draftModelPath, settings } = settingsOf(values, release, unread, notes);
  for (const file of written.environmentFiles)
    notes.push(`its variables in ${file} were not read: secrets may be among them; add what it needs to env`);
  return {
    unit: unit.name,
    program: server.program,
    modelPath,
    draftModelPath,
    settings: { ...settings, ...variables({ ...written.environment, ...server.environment }, notes) },
    notes,
  };
}
