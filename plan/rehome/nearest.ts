/** What a host's cards can serve instead of a model that they cannot. */
import { gpuByName, MODELS, type CatalogModel } from "../../catalog";
import type { StackConfig } from "../../config/schema";
import { NothingFits, recommend } from "../service/recommend";

export interface Alternative {
  /** Name in the catalog. */
  readonly model: string;
  readonly gpu: string;
  readonly count: number;
  readonly release: string;
  readonly contextLength: number | undefined;
  /** Prints the whole service. */
  readonly command: string;
}

/** The beginning of a name up to its first digit: models of one family share it. */
function family(name: string): string {
  return /^[a-z]+/.exec(name)?.[0] ?? name;
}

/** Drafts serve nobody by themselves, and the lab's models are no models. */
function isChoice({ name, architecture }: CatalogModel): boolean {
  return !architecture.startsWith("Eagle") && !name.startsWith("lab-");
}

function alternative(model: CatalogModel, gpuName: string, count: number): Alternative | undefined {
  const gpu = gpuByName(gpuName);
  if (gpu === undefined) return undefined;
  try {
    const { release, service } = recommend(model, gpu, count);
    const contextLength = service["contextLength"];
    return {
      model: model.name,
      gpu: gpuName,
      count,
      release,
      contextLength: typeof contextLength === "number" ? contextLength : undefined,
      command: `./stack recommend --model ${model.name} --gpu ${gpuName} --count ${count}`,
    };
  } catch (error) {
    if (error instanceof NothingFits) return undefined;
    throw error;
  }
}

/** Models of the catalog that a host's cards can serve, those of the same family first, each on as few cards as it needs. */
export function alternatives(config: StackConfig, refused: string): Alternative[] {
  const models = Object.values(config.gpus).map(({ model }) => model);
  const hardware = [...new Set(models)].map((gpu) => ({
    gpu,
    available: models.filter((model) => model === gpu).length,
  }));
  const choices = MODELS.filter((model) => isChoice(model) && model.name !== refused);
  const ordered = [...choices].sort(
    (a, b) => Number(family(a.name) !== family(refused)) - Number(family(b.name) !== family(refused)),
  );
  return ordered.flatMap((model) => {
    for (const { gpu, available } of hardware) {
      for (const count of [1, 2, 4, 8, 16].filter((number) => number <= available)) {
        const found = alternative(model, gpu, count);
        if (found !== undefined) return [found];
      }
    }
    return [];
  });
}
