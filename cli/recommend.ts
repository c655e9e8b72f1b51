import { stringify } from "yaml";
import { gpuByName, GPUS, modelByName, modelByRepo, MODELS } from "../catalog";
import { nearest } from "../config/suggest";
import { NothingFits, recommend as search, type Recommendation } from "../plan/service/recommend";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";

/** What `./stack recommend` is asked for. */
export interface RecommendOptions {
  /** Name in the catalog, or repository of the model hub. */
  readonly model: string;
  /** Name of the GPU in the catalog. */
  readonly gpu: string;
  /** Number of cards. */
  readonly count: string;
  readonly json?: boolean;
}

const GIB = 2 ** 30;

function unknown(kind: string, value: string, known: readonly string[]): UsageError {
  // A name that was cut short is meant before one that is spelled alike.
  const beginning = known.find((name) => name.startsWith(value.toLowerCase()));
  const suggestion = beginning ?? nearest(value, known);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return new UsageError(
    `the catalog does not know the ${kind} "${value}"${hint} (it knows ${known.join(", ")})`,
  );
}

/** The pins that decide: those of an exact version. */
function exactPins(pins: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pins).filter(([, pin]) => pin.includes("==")));
}

/** Memory on each GPU, in GiB. */
function memoryOf({ plan }: Recommendation): Record<string, number> | undefined {
  if (plan.memory === undefined) return undefined;
  const { available, weights, draftStates, statePool, keyValuePool, tokens } = plan.memory;
  const sizes = { available, weights, states: draftStates + statePool, keyValueCache: keyValuePool };
  const inGib = Object.entries(sizes).map(([name, bytes]) => [name, Math.round((bytes / GIB) * 10) / 10]);
  return { ...(Object.fromEntries(inGib) as Record<string, number>), tokens };
}

function memoryText(recommendation: Recommendation): string[] {
  const memory = memoryOf(recommendation);
  if (memory === undefined) return [];
  const { available, weights, states, keyValueCache, tokens } = memory;
  return [
    `memory of each GPU: ${available} GiB, of which weights ${weights}, states ${states}, KV cache ${keyValueCache} for ${tokens} tokens`,
  ];
}

function text(recommendation: Recommendation): string {
  const { service, pins, why, plan } = recommendation;
  const comments = [
    ...why,
    ...memoryText(recommendation),
    `command line: ${plan.args.join(" ")}`,
    `pins: ${Object.entries(exactPins(pins))
      .map(([name, pin]) => `${name}${pin}`)
      .join(" ")}`,
  ];
  const fragment = stringify({
    "proxmox-gpu-stack:services": { recommended: { environment: "ENVIRONMENT", model: "MODEL", ...service } },
  });
  return `${comments.map((line) => `# ${line}`).join("\n")}\n${fragment}`;
}

/**
 * `./stack recommend --model … --gpu … --count … [--json]`: a service as a fragment of a stack file, with release,
 * pins, memory and the reasons.
 *
 * @throws UsageError for a model, GPU or number that there is not
 */
export function recommend(options: RecommendOptions): ExitCode {
  const model = modelByName(options.model) ?? modelByRepo(options.model);
  if (model === undefined)
    throw unknown(
      "model",
      options.model,
      MODELS.map(({ name }) => name),
    );
  const gpu = gpuByName(options.gpu);
  if (gpu === undefined)
    throw unknown(
      "GPU",
      options.gpu,
      GPUS.map(({ name }) => name),
    );
  const count = Number(options.count);
  if (!Number.isInteger(count) || count < 1 || count > 64) {
    throw new UsageError(`--count must be a whole number from 1 to 64, not "${options.count}"`);
  }
  try {
    const found = search(model, gpu, count);
    const { release, service, why, plan } = found;
    const facts = {
      release,
      service,
      pins: exactPins(found.pins),
      memoryGiB: memoryOf(found),
      arguments: plan.args,
      environment: plan.env,
      why,
    };
    process.stdout.write(options.json === true ? `${JSON.stringify(facts, null, 2)}\n` : text(found));
    return EXIT.fine;
  } catch (error) {
    if (!(error instanceof NothingFits)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT.problems;
  }
}
