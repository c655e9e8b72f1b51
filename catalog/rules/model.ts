/** What a model cannot do, whatever the release. */
import type { Facts, Rule } from "../rule";

const LONGER_CONTEXT = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN";
/** Algorithms that draft with the model's own prediction layers when no draft model is stated. */
const OWN_DRAFT = ["NEXTN", "EAGLE"];

const ranks = ({ settings }: Facts) => settings.tensorParallel * settings.pipelineParallel;

export const MODEL_RULES: readonly Rule[] = [
  {
    id: "M2",
    subject: "speculation with the model's own prediction layers, and it has none",
    cases: [
      {
        when: ({ settings, model }) =>
          OWN_DRAFT.includes(settings.algorithm ?? "") &&
          settings.draftModel === undefined &&
          model?.predictionLayers === 0,
        severity: "error",
        setting: "speculative.algorithm",
        message: ({ model }) =>
          `${model?.name ?? model?.architecture ?? "the model"} has no layers of multi-token prediction to draft with`,
        fix: "use eagle3 with a draft model, or leave speculation out",
      },
    ],
    evidence: "the checkpoint's config.json (mtp_num_hidden_layers, num_nextn_predict_layers)",
  },
  {
    id: "M4",
    subject: "context that is longer than the model's",
    cases: [
      {
        when: ({ settings, model, env }) =>
          model !== undefined &&
          (settings.contextLength ?? 0) > model.contextLength &&
          env[LONGER_CONTEXT] !== "1",
        severity: "error",
        setting: "contextLength",
        message: ({ settings, model }) =>
          `User-specified context_length (${settings.contextLength ?? ""}) is greater than the derived context_length (${model?.contextLength ?? ""})`,
        fix: ({ model }) =>
          `set contextLength to ${model?.contextLength ?? ""} or less (${LONGER_CONTEXT}=1 with a rope scaling is for those who know)`,
      },
    ],
    evidence: "seen with a real 0.5.11 server: exit 1 before loading",
  },
  {
    id: "M5",
    subject: "more ranks than cards",
    cases: [
      {
        when: (facts) => ranks(facts) > facts.gpuCount,
        severity: "error",
        setting: "tensorParallel",
        message: (facts) =>
          `${ranks(facts)} ranks on ${facts.gpuCount === 1 ? "1 card" : `${facts.gpuCount} cards`}: the scheduler dies of "invalid device ordinal"`,
        fix: (facts) => `set tensorParallel to ${facts.gpuCount}, or give the service more cards`,
      },
    ],
    evidence: "seen with a real 0.5.11 server: exit -9 after 21 to 31 s",
  },
];
