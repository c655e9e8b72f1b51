/** The catalog: what is known about SGLang releases, GPUs and models, and what is known to fail. */
export { DEVELOPMENT_BUILDS, PACKAGE_CONSTRAINTS } from "./builds";
export { acknowledge, evaluateHostRules, evaluateRules, type Acknowledgement } from "./engine";
export { explainRule } from "./explain";
export { describeCheckpoint } from "./checkpoint";
export { findFlag, isValueless, readArguments, type ArgumentProblem, type Arguments } from "./flags";
export { GPUS, gpuByName } from "./gpus";
export { MODELS, modelByName, modelByRepo } from "./models";
export {
  knowledgeOf,
  loadRelease,
  NEWEST_RELEASE,
  releaseOf,
  RELEASES,
  type Flag,
  type Release,
} from "./releases";
export type { Facts, HostFacts, Rule, RuleCase } from "./rule";
export { readSettings, type Settings } from "./settings";
export type * from "./types";
export { buildName, inRange, parseBuild, type Build, type BuildRange } from "./versions";
