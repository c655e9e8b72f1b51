import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import type { Finding } from "../catalog";
import { modelListFile, readModelList, type ModelList } from "../config/model-list";
import { NAMESPACE, UNKNOWN, type ModelConfig, type StackConfig } from "../config/schema";
import { expectedConfig } from "./model-facts";
import { SCRIPTS } from "./script";
import { descriptionFile, plannedModel } from "./service/input";
import { HOST, step, type Step } from "./step";
import { LIBRARY } from "./unit/paths";

/** Where models come from unless a model names a mirror. */
export const DEFAULT_HUB = "https://huggingface.co";

export interface ModelPlan {
  readonly name: string;
  readonly step: Step;
  /** A list that is not recorded, or that cannot be read. */
  readonly findings: readonly Finding[];
}

/** The package that fetches and checks, file by file, under its path on the host. */
function snapshotPackage(): Record<string, string> {
  const folder = join(SCRIPTS, "tools", "model_snapshot");
  return Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".py"))
      .sort()
      .map((file) => [`${LIBRARY}/model_snapshot/${file}`, readFileSync(join(folder, file), "utf8")]),
  );
}

/** The command that records a model's list. */
export function recordCommand(model: ModelConfig): string {
  const endpoint = model.endpoint === undefined ? "" : ` --endpoint ${model.endpoint}`;
  return `./stack describe-model ${model.repo} --revision ${model.revision}${endpoint}`;
}

function recordedList(
  name: string,
  model: ModelConfig,
  projectDirectory: string,
): { list?: ModelList; findings: Finding[] } {
  const finding = {
    path: `${NAMESPACE}:models.${name}.revision`,
    evidence: "docs/how-to/add-a-model.md",
  };
  // What was never recorded is refused elsewhere.
  if (model.revision === UNKNOWN) return { findings: [] };
  try {
    const list = readModelList(projectDirectory, model.repo, model.revision);
    if (list !== undefined) return { list, findings: [] };
    const message = `${modelListFile(model.repo, model.revision)} is not there: the files are verified by what the hub says of them, so one that was changed there under the same revision would pass`;
    const fix = `${recordCommand(model)}, then commit models/`;
    return { findings: [{ ...finding, id: "model-list-missing", severity: "warning", message, fix }] };
  } catch (error) {
    const fix = `restore it, or record it again: ${recordCommand(model)}`;
    const { message } = error as Error;
    return { findings: [{ ...finding, id: "model-list-broken", severity: "error", message, fix }] };
  }
}

/** What config.json must say, and who says so; null: nothing is known of the model. */
function expectedFacts(model: ModelConfig, projectDirectory: string) {
  const facts = plannedModel(model, projectDirectory);
  if (facts === undefined) return null;
  const source =
    facts.name === undefined
      ? relative(projectDirectory, descriptionFile(projectDirectory, model.repo))
      : `the catalog's ${facts.name}`;
  return { source, config: expectedConfig(facts) };
}

/**
 * The step of every model.
 *
 * @param projectDirectory holds `models/`: recorded lists and descriptions
 */
export function planModels(config: StackConfig, projectDirectory = join(__dirname, "..")): ModelPlan[] {
  return Object.entries(config.models).map(([name, model]) => {
    const { list, findings } = recordedList(name, model, projectDirectory);
    const { repo, revision, path } = model;
    const endpoint = model.endpoint ?? DEFAULT_HUB;
    const specification = {
      repo,
      revision,
      path,
      endpoint,
      files: list?.files ?? null,
      facts: expectedFacts(model, projectDirectory),
    };
    return {
      name,
      findings,
      step: step({
        name: `${name}-snapshot`,
        target: HOST,
        script: "host/model-snapshot",
        args: { name, repo, revision, path, endpoint },
        texts: { ...snapshotPackage(), "snapshot.json": JSON.stringify(specification, null, 1) },
        secrets: ["huggingFaceToken"],
        timeoutMinutes: 1440,
        removable: true,
        summary: `${repo} at ${revision.slice(0, 12)}, every file verified, in ${path}`,
      }),
    };
  });
}
