/** Speculative decoding. */
import {
  attentionBackends,
  isHybrid,
  isKimi,
  isLatent,
  isSpeculative,
  prefillBackend,
  scheduler,
} from "../conditions";
import type { Facts, Rule } from "../rule";
import { inRange } from "../versions";

const SPEC_V2 = "SGLANG_ENABLE_SPEC_V2";
const isOn = (value: string | undefined) => ["1", "true", "yes", "y"].includes((value ?? "").toLowerCase());

const topkBackends = (facts: Facts) =>
  inRange(facts.build, { from: "0.5.13" }) ? ["flashinfer", "fa3", "triton"] : ["flashinfer", "fa3"];

export const SPECULATION_RULES: readonly Rule[] = [
  {
    id: "R11",
    subject: `${SPEC_V2} where it is missing or dead`,
    cases: [
      {
        builds: { from: "0.5.10", before: "0.5.11" },
        when: (facts) =>
          isHybrid(facts) &&
          isSpeculative(facts) &&
          scheduler(facts) === "extra_buffer" &&
          !isOn(facts.env[SPEC_V2]),
        severity: "warning",
        setting: "env",
        message: `extra_buffer with speculation needs ${SPEC_V2}=1 in this release, where it is off by default`,
        fix: `set ${SPEC_V2}=1`,
      },
      {
        builds: { from: "0.5.14" },
        when: (facts) => facts.env[SPEC_V2] !== undefined,
        severity: "warning",
        setting: `env.${SPEC_V2}`,
        message: `${SPEC_V2} has been removed and does nothing`,
        fix: "take it out",
      },
    ],
    evidence:
      "environ.py:414 (0.5.9), :442 (0.5.10): off; 79dbfe4505 #21062: on from 0.5.11; c0480a88be #27964: removed in 0.5.14, silent from 0.5.21",
  },
  {
    id: "R12",
    subject: "the second speculative engine with topk above 1",
    cases: [
      {
        builds: { before: "0.5.11" },
        when: (facts) => isSpeculative(facts) && isOn(facts.env[SPEC_V2]) && (facts.settings.topk ?? 1) > 1,
        severity: "error",
        setting: "speculative.topk",
        message: "ValueError: Spec v2 currently only supports topk = 1 for speculative decoding.",
        fix: "set topk to 1",
      },
      {
        builds: { from: "0.5.11", before: "0.5.13" },
        when: (facts) => isSpeculative(facts) && (facts.settings.topk ?? 1) > 1,
        severity: "warning",
        setting: "speculative.topk",
        message: "with topk above 1 the server silently falls back to the first speculative engine",
        fix: "set topk to 1",
      },
    ],
    evidence: "read in 0.5.9 to 0.5.13; no check from 0.5.13",
  },
  {
    id: "R13",
    subject: "topk 1 with another number of draft tokens than steps + 1",
    cases: [
      {
        when: ({ settings }) =>
          settings.topk === 1 &&
          settings.steps !== undefined &&
          settings.draftTokens !== undefined &&
          settings.draftTokens !== settings.steps + 1,
        severity: "warning",
        setting: "speculative.draftTokens",
        message: ({ settings }) =>
          `with topk 1 the server forces the draft tokens to steps + 1 = ${(settings.steps ?? 0) + 1}; ${settings.draftTokens ?? ""} has no effect`,
        fix: ({ settings }) => `set draftTokens to ${(settings.steps ?? 0) + 1}, or leave it out`,
      },
    ],
    evidence: "read in 0.5.9 to 0.5.23",
  },
  {
    id: "R14",
    subject: "topk or draft tokens without steps",
    cases: [
      {
        when: ({ settings }) =>
          settings.algorithm !== undefined &&
          settings.steps === undefined &&
          (settings.topk !== undefined || settings.draftTokens !== undefined),
        severity: "error",
        setting: "speculative.steps",
        message: "AssertionError: --speculative-num-steps is missing while topk or draft tokens are stated",
        fix: "state all three of steps, topk and draft tokens, or none",
      },
    ],
    evidence: "read in 0.5.9 to 0.5.23",
  },
  {
    id: "R15",
    subject: "topk above 1 with a page size above 1, on a backend that cannot do it",
    cases: [
      {
        when: (facts) =>
          isSpeculative(facts) &&
          (facts.settings.topk ?? 1) > 1 &&
          (facts.settings.pageSize ?? 1) > 1 &&
          !topkBackends(facts).includes(prefillBackend(facts) ?? ""),
        severity: "error",
        setting: "speculative.topk",
        message: (facts) =>
          `ValueError: topk above 1 with a page size above 1 works with ${topkBackends(facts).join(", ")} only`,
        fix: "set topk to 1, or the page size to 1",
      },
    ],
    evidence: "server_args.py:2458 (v0.5.9); arg_groups/speculative_hook.py:376 (v0.5.13)",
  },
  {
    id: "R16",
    subject: "what speculation changes or does not go with",
    cases: [
      {
        when: (facts) => isSpeculative(facts) && facts.settings.maxRunningRequests === undefined,
        severity: "info",
        setting: "maxRunningRequests",
        message:
          "with speculation the server runs at most 48 requests at once unless another number is stated",
        fix: "state maxRunningRequests if another number is wanted",
      },
      {
        when: (facts) =>
          isSpeculative(facts) &&
          facts.settings.pipelineParallel > 1 &&
          (inRange(facts.build, { before: "0.5.21" }) || !isOn(facts.env["SGLANG_ENABLE_PP_SPEC"])),
        severity: "error",
        setting: "extraArgs",
        message: "speculative decoding does not go with pipeline parallelism",
        fix: "take --pp-size out (from 0.5.21 SGLANG_ENABLE_PP_SPEC=1 allows it)",
      },
      {
        when: (facts) => isSpeculative(facts) && attentionBackends(facts).includes("flex_attention"),
        severity: "error",
        setting: "attentionBackend",
        message: "flex_attention has no speculative decoding",
        fix: "use --attention-backend triton or flashinfer",
      },
      {
        when: (facts) =>
          isSpeculative(facts) &&
          isLatent(facts) &&
          attentionBackends(facts).includes("flashinfer") &&
          (facts.settings.topk ?? 1) > 1,
        severity: "error",
        setting: "speculative.topk",
        message: "flashinfer for MLA supports speculative decoding with topk 1 only",
        fix: "set topk to 1",
      },
    ],
    evidence: "read in 0.5.9 to 0.5.23",
  },
  {
    id: "R17",
    subject: "EAGLE-3 for Kimi-K2.5 on a release without it",
    cases: [
      {
        builds: { before: "0.5.10" },
        when: (facts) => isKimi(facts) && facts.settings.algorithm === "EAGLE3",
        severity: "error",
        setting: "speculative.algorithm",
        message: "this build has no EAGLE-3 hooks in Kimi-K2.5; they came with 0.5.10",
        fix: "use 0.5.12 or newer (0.5.10 without the MLA draft), or leave speculation out",
      },
      {
        builds: { before: "0.5.12" },
        when: (facts) =>
          isKimi(facts) &&
          facts.settings.algorithm === "EAGLE3" &&
          facts.draftModel?.latentAttention !== undefined,
        severity: "error",
        setting: "speculative.draftModel",
        message: "this build cannot load an MLA draft (kimi-k2.5-eagle3-mla); it came with 0.5.12",
        fix: "use 0.5.12 or newer, or leave speculation out",
      },
    ],
    evidence:
      "85f7a0aa30 #19689; a87fb399de #24826; models/kimi_k25.py and kimi_k25_eagle3.py confirmed in 0.5.10 and 0.5.12",
  },
  {
    id: "R18",
    subject: "flashinfer_trtllm, stated, as the draft's MoE runner",
    cases: [
      {
        builds: { before: "0.5.12" },
        when: ({ settings }) => settings.speculativeMoeRunner === "flashinfer_trtllm",
        severity: "error",
        setting: "extraArgs",
        message: "AssertionError: the speculative MoE runner backend cannot be flashinfer_trtllm",
        fix: "use --speculative-moe-runner-backend triton, or leave it out",
      },
    ],
    evidence: "server_args.py:2350 (v0.5.9), :2981 (v0.5.10)",
  },
  {
    id: "R46",
    subject: "misspelt speculative algorithm, which the parser lets through from 0.5.12",
    cases: [
      {
        builds: { from: "0.5.12" },
        when: (facts) =>
          facts.arguments.problems.some(
            ({ kind, argument }) => kind === "choice" && argument.startsWith("--speculative-algorithm "),
          ),
        severity: "error",
        setting: "speculative.algorithm",
        message: ({ settings }) =>
          `"${settings.algorithm ?? ""}" passes the parser and fails later in the start: Unknown speculative algorithm`,
        fix: (facts) =>
          facts.arguments.problems.find(({ argument }) => argument.startsWith("--speculative-algorithm "))
            ?.fix ?? "",
      },
    ],
    evidence: "the parsers of 0.5.9 to 0.5.23; speculative/spec_info.py",
  },
  {
    id: "R47",
    subject: "stated quantization with a draft model of its own",
    cases: [
      {
        when: ({ settings }) =>
          settings.quantization !== undefined &&
          settings.draftModel !== undefined &&
          settings.draftQuantization === undefined,
        severity: "warning",
        setting: "quantization",
        message: ({ settings }) =>
          `the draft model inherits --quantization ${settings.quantization ?? ""}, which a BF16 draft cannot be loaded with`,
        fix: "add --speculative-draft-model-quantization unquant",
      },
    ],
    evidence: "server_args.py:880 (v0.5.9); arg_groups/serving_hook.py:676 (0.5.23); models/qwen3_5_mtp.py",
  },
];
