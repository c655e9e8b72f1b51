import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describeCheckpoint, modelByRepo, type CatalogModel, type ModelFacts } from "../catalog";
import { modelListFile, REPOSITORY } from "../config/model-list";
import { expectedConfig } from "../plan/model-facts";
import { DEFAULT_HUB } from "../plan/model-steps";
import { descriptionFile } from "../plan/service/input";
import { ModelHub } from "./model-hub";

/** What `./stack describe-model` is asked for. */
export interface DescribeOptions {
  /** Branch or commit of the repository; default: the newest commit. */
  readonly revision?: string;
  /** Address of the model hub; default: the public hub. */
  readonly endpoint?: string;
  /** Token for gated models; default: HF_TOKEN. */
  readonly token?: string;
  /** Folder of the project; its `models/` gets what is written. */
  readonly projectDirectory: string;
}

/** What was written, and what it says. */
export interface Description {
  /** Commit of the repository. */
  readonly revision: string;
  /** The list of the revision's files with their hashes. */
  readonly list: string;
  /** The description; undefined for a model of the catalog, which would win over it. */
  readonly file: string | undefined;
  readonly facts: ModelFacts;
  /** Name of the model in the catalog. */
  readonly catalog: string | undefined;
  /** What the checkpoint says otherwise than the catalog, one line each: an `up` would refuse it. */
  readonly differences: readonly string[];
}

/** Size of the weights in bytes, from the index of a checkpoint in several files. */
function weightsBytes(index: unknown): number | undefined {
  const size = (index as { metadata?: { total_size?: unknown } } | undefined)?.metadata?.total_size;
  return typeof size === "number" ? size : undefined;
}

/** Writes JSON aside and renames it into place. */
function writeJson(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** What a step would refuse: fields of which the catalog says something else. */
function differences(known: CatalogModel | undefined, facts: ModelFacts): string[] {
  if (known === undefined) return [];
  const found = expectedConfig(facts);
  return Object.entries(expectedConfig(known)).flatMap(([key, wanted]) =>
    isDeepStrictEqual(found[key] ?? null, wanted)
      ? []
      : [
          `${key} is ${JSON.stringify(found[key] ?? null)}, the catalog's ${known.name} says ${JSON.stringify(wanted)}`,
        ],
  );
}

/**
 * Reads a revision of a model from the hub and writes what stacks need to know of it, to be committed beside them:
 * `models/<owner>--<name>/<commit>.json`, the list of its files with their hashes, and for a model that is not in the
 * catalog `models/<owner>--<name>.json`, its description, so that plans know its layers, heads and size.
 *
 * @throws Error that says which address failed and how, or what the config.json lacks
 */
export async function describeModel(repo: string, options: DescribeOptions): Promise<Description> {
  if (!REPOSITORY.test(repo)) {
    throw new Error(`"${repo}" is not a repository of the model hub; write owner/name`);
  }
  const { endpoint = DEFAULT_HUB, token = process.env["HF_TOKEN"], projectDirectory } = options;
  const hub = new ModelHub(endpoint, repo, token);
  const { revision, files } = await hub.revision(options.revision ?? "main");
  const config = await hub.file(revision, "config.json");
  if (config === undefined) throw new Error(`${hub.address(revision, "config.json")}: there is no such file`);
  const quantization = await hub.file(revision, "hf_quant_config.json");
  const bytes = weightsBytes(await hub.file(revision, "model.safetensors.index.json"));
  const extra = {
    ...(quantization === undefined ? {} : { quantization }),
    ...(bytes === undefined ? {} : { weightsBytes: bytes }),
  };
  const facts = describeCheckpoint(config, extra);
  const known = modelByRepo(repo);
  const list = join(projectDirectory, modelListFile(repo, revision));
  writeJson(list, { repo, revision, files });
  const file = known === undefined ? descriptionFile(projectDirectory, repo) : undefined;
  if (file !== undefined) writeJson(file, { repo, revision, ...extra, config });
  return { revision, list, file, facts, catalog: known?.name, differences: differences(known, facts) };
}
