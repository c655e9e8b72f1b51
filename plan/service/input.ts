/** From a checked stack to the input of a service's plan. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeCheckpoint, modelByName, modelByRepo } from "../../catalog";
import { readEnvironmentFolder } from "../../config/environment-folder";
import { NAMESPACE, type ModelConfig, type ResolvedService, type StackConfig } from "../../config/schema";
import { readWheelRecipes } from "../../config/wheels";
import type { PlannedModel, ServiceInput } from "./types";

/** A committed description of a model that the catalog does not hold: `models/<owner>--<name>.json`. */
interface Description {
  readonly config: unknown;
  readonly quantization?: unknown;
  readonly weightsBytes?: number;
}

/** Where `./stack describe-model` puts a model's description. */
export function descriptionFile(projectDirectory: string, repo: string): string {
  return join(projectDirectory, "models", `${repo.replace("/", "--")}.json`);
}

/** A model's facts, from the catalog or from its description; undefined: neither has it. */
export function plannedModel(
  model: ModelConfig | undefined,
  projectDirectory: string,
): PlannedModel | undefined {
  if (model === undefined) return undefined;
  const known = model.catalog === undefined ? modelByRepo(model.repo) : modelByName(model.catalog);
  if (known !== undefined) return known;
  const file = descriptionFile(projectDirectory, model.repo);
  if (!existsSync(file)) return undefined;
  const { config, ...extra } = JSON.parse(readFileSync(file, "utf8")) as Description;
  return describeCheckpoint(config, extra);
}

/** Packages of the environment's lock, normalised name to version; undefined: there is no lock. */
function packagesOf(lock: string, projectDirectory: string): Record<string, string> | undefined {
  const { packages } = readEnvironmentFolder(lock, projectDirectory).lock ?? {};
  return packages && Object.fromEntries(packages.map(({ name, version }) => [name, version]));
}

/** Names of the patches on the environment's SGLang, without their number: `sm120-all-reduce-fusion`. Rules know some. */
function patchesOf(lock: string, projectDirectory: string): string[] {
  const { recipes } = readWheelRecipes(lock, projectDirectory);
  return recipes
    .filter((recipe) => recipe.package === "sglang")
    .flatMap(({ patches }) => patches.map(({ name }) => name.replace(/^\d\d-|\.patch$/g, "")));
}

/**
 * The input of a service's plan.
 *
 * @param projectDirectory holds `environments/` and `models/`
 */
export function serviceInput(
  config: StackConfig,
  service: ResolvedService,
  projectDirectory = join(__dirname, "..", ".."),
): ServiceInput {
  const environment = config.environments[service.environment];
  const draft = service.speculative?.draftModel;
  return {
    path: `${NAMESPACE}:services.${service.name}`,
    service,
    gpus: service.gpus.flatMap((name) => config.gpus[name]?.model ?? []),
    model: plannedModel(config.models[service.model], projectDirectory),
    draftModel: draft === undefined ? undefined : plannedModel(config.models[draft], projectDirectory),
    packages: environment === undefined ? undefined : packagesOf(environment.lock, projectDirectory),
    patches: environment === undefined ? [] : patchesOf(environment.lock, projectDirectory),
    python: environment?.python,
  };
}
