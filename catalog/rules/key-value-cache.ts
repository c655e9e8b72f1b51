/** The type of the KV cache. */
import { isKimi, keyValueType } from "../conditions";
import type { Rule } from "../rule";

export const KEY_VALUE_CACHE_RULES: readonly Rule[] = [
  {
    id: "R28",
    subject: "KV cache of type auto on a checkpoint that asks for FP8",
    cases: [
      {
        when: (facts) => keyValueType(facts) === "auto" && facts.model?.fp8KeyValueCache === true,
        severity: "warning",
        setting: "kvCacheDtype",
        message: "auto silently becomes fp8_e4m3 on this checkpoint, which has harmed long contexts",
        fix: "state bf16 (or fp8_e4m3, if that is wanted)",
      },
    ],
    evidence: "model_runner.py:1668 (v0.5.9); mem_cache/kv_cache_dtype.py (0.5.16+)",
  },
  {
    id: "R29",
    subject: "FP8 KV cache without scaling factors in the checkpoint",
    cases: [
      {
        when: (facts) => keyValueType(facts) === "fp8_e4m3" && facts.model?.keyValueScales === false,
        severity: "warning",
        setting: "kvCacheDtype",
        message:
          "Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of 1.0. This may lead to less accurate results!",
        fix: "use bf16",
      },
    ],
    evidence:
      "model_runner.py:1015 (v0.5.9), :1438 (v0.5.11); model_executor/model_runner_components/load_model_utils.py (0.5.16+)",
  },
  {
    id: "M3",
    subject: "FP8 KV cache with INT4 weights (Kimi)",
    cases: [
      {
        when: (facts) => isKimi(facts) && keyValueType(facts).startsWith("fp8"),
        severity: "warning",
        setting: "kvCacheDtype",
        message: "FP8 KV with INT4 weights fell from 73-90 to 16 tokens/s on 8 RTX PRO 6000",
        fix: "use bf16",
      },
    ],
    evidence: "report of 8x RTX PRO 6000 with Kimi-K2.5",
  },
];
