import type { StackConfig } from "../config/schema";
import { scriptText } from "./script";
import { HOST, step, type Step } from "./step";

/** Where models come from unless a model names a mirror. */
export const DEFAULT_HUB = "https://huggingface.co";

export interface ModelPlan {
  readonly name: string;
  readonly step: Step;
}

export function planModels(config: StackConfig): ModelPlan[] {
  return Object.entries(config.models).map(([name, model]) => ({
    name,
    step: step({
      name: `${name}-snapshot`,
      target: HOST,
      script: "host/model-snapshot",
      args: {
        name,
        repo: model.repo,
        revision: model.revision,
        path: model.path,
        endpoint: model.endpoint ?? DEFAULT_HUB,
      },
      texts: { "model-snapshot.py": scriptText("tools/model-snapshot.py") },
      secrets: ["huggingFaceToken"],
      timeoutMinutes: 1440,
      removable: true,
      summary: `${model.repo} at ${model.revision.slice(0, 12)}, every file verified, in ${model.path}`,
    }),
  }));
}
