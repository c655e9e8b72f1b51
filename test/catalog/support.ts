/** Facts of a service from a command line, as the tests of the rules write them. */
import {
  evaluateRules,
  gpuByName,
  modelByName,
  parseBuild,
  readArguments,
  readSettings,
  releaseOf,
  type Facts,
  type Finding,
} from "../../catalog";

/** A row of a rule test; what is left out is system A's. */
export interface Case {
  /** Release, commit or development build. */
  readonly release: string;
  /** Name in the catalog, or none. */
  readonly model?: string;
  readonly draft?: string;
  readonly gpu?: string;
  /** Compute capability, for cards that the catalog does not hold. */
  readonly capability?: readonly [number, number];
  /** Number of cards; also the tensor parallelism unless `args` state it. */
  readonly count?: number;
  /** The command line after model and parallelism, as one text. */
  readonly args?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly patches?: readonly string[];
  readonly packages?: Readonly<Record<string, string>>;
  readonly python?: string;
  /** Facts of the model that differ from the catalog's. */
  readonly facts?: Partial<NonNullable<Facts["model"]>>;
}

export const PATH = "proxmox-gpu-stack:services.x";

export function factsOf(row: Case): Facts {
  const build = parseBuild(row.release);
  const release = build === undefined ? undefined : releaseOf(build);
  if (build === undefined || release === undefined) throw new Error(`unknown release ${row.release}`);
  const count = row.count ?? 2;
  const stated = row.args === undefined || row.args === "" ? [] : row.args.split(" ");
  const parallel = stated.includes("--tp-size") ? [] : ["--tp-size", String(count)];
  const read = readArguments(release, ["--model-path", "/models/m", ...parallel, ...stated]);
  const model = modelByName(row.model ?? "qwen3.6-27b");
  const card = gpuByName(row.gpu ?? "rtx-a6000");
  const gpu = card && row.capability ? { ...card, computeCapability: row.capability } : card;
  return {
    path: PATH,
    build,
    release,
    arguments: read,
    settings: readSettings(read),
    env: row.env ?? {},
    gpu,
    gpuCount: count,
    model: model === undefined ? undefined : { ...model, ...row.facts },
    draftModel: row.draft === undefined ? undefined : modelByName(row.draft),
    patches: row.patches ?? [],
    packages: row.packages,
    python: row.python,
  };
}

export function findingsOf(row: Case): Finding[] {
  return evaluateRules(factsOf(row));
}

/** Severity and id of every finding, in order: "error R1". */
export function verdictOf(row: Case): string[] {
  return findingsOf(row).map(({ severity, id }) => `${severity} ${id}`);
}
