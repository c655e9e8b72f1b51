/** What lies on the other host and need not be downloaded a second time. */
import { modelByName, modelByRepo } from "../../catalog";
import { readEnvironmentFolder } from "../../config/environment-folder";
import { readModelList } from "../../config/model-list";
import type { StackConfig } from "../../config/schema";

export interface Copies {
  readonly models: readonly {
    readonly name: string;
    readonly repo: string;
    readonly revision: string;
    /** Path on the target host. */
    readonly path: string;
    /** Size where it is known. */
    readonly bytes: number | undefined;
  }[];
  readonly wheels: readonly {
    /** Folder of environments/. */
    readonly lock: string;
    readonly files: number;
    readonly bytes: number;
  }[];
}

function bytesOf(config: StackConfig, name: string, projectDirectory: string): number | undefined {
  const model = config.models[name];
  if (model === undefined) return undefined;
  const listed = readModelList(projectDirectory, model.repo, model.revision);
  if (listed !== undefined) return listed.files.reduce((sum, file) => sum + file.bytes, 0);
  return (model.catalog === undefined ? modelByRepo(model.repo) : modelByName(model.catalog))?.weightsBytes;
}

/** The models and packages that new services of a stack need on their host. */
export function copies(config: StackConfig, services: readonly string[], projectDirectory: string): Copies {
  const entries = services.flatMap((name) => config.services[name] ?? []);
  const models = new Set(
    entries.flatMap(({ model, speculative }) => [
      model,
      ...(speculative?.draftModel === undefined ? [] : [speculative.draftModel]),
    ]),
  );
  const locks = new Set(entries.flatMap(({ environment }) => config.environments[environment]?.lock ?? []));
  return {
    models: [...models].flatMap((name) => {
      const model = config.models[name];
      if (model === undefined) return [];
      const { repo, revision, path } = model;
      return [{ name, repo, revision, path, bytes: bytesOf(config, name, projectDirectory) }];
    }),
    wheels: [...locks].flatMap((lock) => {
      const { files } = readEnvironmentFolder(lock, projectDirectory);
      if (files === undefined) return [];
      return [{ lock, files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) }];
    }),
  };
}
