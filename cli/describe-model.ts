import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describeCheckpoint, modelByRepo, type ModelFacts } from "../catalog";
import { descriptionFile } from "../plan/service/input";

/** What `./stack describe-model` is asked for. */
export interface DescribeOptions {
  /** Commit of the repository; default: the newest. */
  readonly revision?: string;
  /** Address of the model hub; default: the public hub. */
  readonly endpoint?: string;
  /** Token for gated models; default: HF_TOKEN. */
  readonly token?: string;
  /** Folder of the project; its `models/` gets the description. */
  readonly projectDirectory: string;
}

/** A description, written beside the stack files, and what it says. */
export interface Description {
  readonly file: string;
  readonly facts: ModelFacts;
  /** Name of the model in the catalog, which then wins over the description. */
  readonly catalog: string | undefined;
}

const PUBLIC_HUB = "https://huggingface.co";
const TIMEOUT_MILLISECONDS = 60_000;

/** A JSON file of the repository, or undefined where it has none. */
async function fetchJson(address: string, token: string | undefined): Promise<unknown> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  try {
    response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS) });
  } catch (error) {
    const cause =
      error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error);
    throw new Error(`${address} cannot be reached: ${cause}`, { cause: error });
  }
  if (response.status === 404) return undefined;
  if (response.status === 401 || response.status === 403) {
    throw new Error(
      `${address}: the model is gated or does not exist (${response.status}); set HF_TOKEN to a token that may read it`,
    );
  }
  if (!response.ok) throw new Error(`${address}: the hub answers ${response.status} ${response.statusText}`);
  return response.json() as Promise<unknown>;
}

/** Size of the weights in bytes, from the index of a checkpoint in several files. */
function weightsBytes(index: unknown): number | undefined {
  const size = (index as { metadata?: { total_size?: unknown } } | undefined)?.metadata?.total_size;
  return typeof size === "number" ? size : undefined;
}

/**
 * Reads a model's facts from the hub and writes `models/<owner>--<name>.json`, to be committed beside the stacks:
 * plans of a model that is not in the catalog then know its layers, heads and size.
 *
 * @throws Error that says which address failed and how, or what the config.json lacks
 */
export async function describeModel(repo: string, options: DescribeOptions): Promise<Description> {
  if (!/^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/.test(repo)) {
    throw new Error(`"${repo}" is not a repository of the model hub; write owner/name`);
  }
  const {
    revision = "main",
    endpoint = PUBLIC_HUB,
    token = process.env["HF_TOKEN"],
    projectDirectory,
  } = options;
  const base = `${endpoint.replace(/\/+$/, "")}/${repo}/resolve/${revision}`;
  const config = await fetchJson(`${base}/config.json`, token);
  if (config === undefined)
    throw new Error(`${base}/config.json: there is no such file; check repository and revision`);
  const quantization = await fetchJson(`${base}/hf_quant_config.json`, token);
  const bytes = weightsBytes(await fetchJson(`${base}/model.safetensors.index.json`, token));
  const extra = {
    ...(quantization === undefined ? {} : { quantization }),
    ...(bytes === undefined ? {} : { weightsBytes: bytes }),
  };
  const facts = describeCheckpoint(config, extra);
  const file = descriptionFile(projectDirectory, repo);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify({ repo, revision, ...extra, config }, null, 2)}\n`);
  renameSync(`${file}.new`, file);
  return { file, facts, catalog: modelByRepo(repo)?.name };
}
