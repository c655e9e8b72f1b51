/** Strategies for the recurrent state of hybrid GDN models. */
import {
  attentionBackends,
  isHybrid,
  isSpeculative,
  meansNoBuffer,
  scheduler,
  schedulerFlag,
} from "../conditions";
import type { Facts, Rule, RuleCase } from "../rule";

const EXTRA_BUFFER = ["extra_buffer", "extra_buffer_lazy"];
const statesExtraBuffer = (facts: Facts) => isHybrid(facts) && EXTRA_BUFFER.includes(scheduler(facts));

/** Chunk of the Gated DeltaNet kernels, in tokens. */
const CHUNK = 64;

const divides = (a: number, b: number) => a % b === 0 || b % a === 0;

/** R10: what plain no_buffer does not go with from 0.5.14. */
function noBuffer(when: (facts: Facts) => boolean, message: string, fix: string): RuleCase<Facts> {
  return {
    builds: { from: "0.5.14" },
    when: (facts) =>
      isHybrid(facts) && facts.settings.scheduler === "no_buffer" && facts.settings.radixCache && when(facts),
    severity: "error",
    setting: "mambaScheduler",
    message: `AssertionError: ${message}`,
    fix,
  };
}

/** R9: what extra_buffer needs. */
function extraBuffer(when: (facts: Facts) => boolean, message: string, fix: string): RuleCase<Facts> {
  return {
    when: (facts) => statesExtraBuffer(facts) && facts.settings.radixCache && when(facts),
    severity: "error",
    setting: "extraArgs",
    message: `AssertionError: ${message}`,
    fix,
  };
}

export const RECURRENT_STATE_RULES: readonly Rule[] = [
  {
    id: "R7",
    subject: "hybrid GDN model with speculative decoding and radix cache, and no extra buffer for the states",
    cases: [
      {
        builds: { from: "0.5.10", before: "0.5.14" },
        when: (facts) =>
          isHybrid(facts) && isSpeculative(facts) && facts.settings.radixCache && meansNoBuffer(facts),
        severity: "error",
        setting: "mambaScheduler",
        message: (facts) =>
          `ValueError: Speculative decoding for ${facts.model?.architecture ?? ""} is not compatible with radix cache when using --mamba-scheduler-strategy no_buffer (auto means no_buffer here)`,
        fix: "use --mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1",
      },
      {
        builds: { before: "0.5.10" },
        when: (facts) =>
          isHybrid(facts) && isSpeculative(facts) && facts.settings.radixCache && meansNoBuffer(facts),
        severity: "warning",
        setting: "mambaScheduler",
        message: "the radix cache is switched off, with nothing but a warning in the log",
        fix: "use --mamba-scheduler-strategy extra_buffer",
      },
    ],
    evidence:
      "9457c049e1 #19391; server_args.py:1760-1764 (v0.5.9), :2207 (v0.5.10), :2454 (v0.5.11); gone from 0.5.14",
  },
  {
    id: "R8",
    subject: "extra_buffer without radix cache",
    cases: [
      {
        builds: { from: "0.5.10", before: "0.5.14" },
        when: (facts) => isHybrid(facts) && scheduler(facts) === "extra_buffer" && !facts.settings.radixCache,
        severity: "error",
        setting: "mambaScheduler",
        message: "ValueError: mamba extra_buffer is not compatible with --disable-radix-cache",
        fix: "use --mamba-scheduler-strategy no_buffer, or take --disable-radix-cache out",
      },
    ],
    evidence:
      "server_args.py:2396-2401 (v0.5.11); from 0.5.14 the strategy is not looked at without radix cache",
  },
  {
    id: "R8b",
    subject: "no_buffer with radix cache and another page size than 1",
    cases: [
      {
        builds: { from: "0.5.11", before: "0.5.14" },
        when: (facts) =>
          isHybrid(facts) &&
          meansNoBuffer(facts) &&
          facts.settings.radixCache &&
          (facts.settings.pageSize ?? 1) !== 1,
        severity: "warning",
        setting: "extraArgs",
        message: (facts) =>
          `no_buffer forces the page size to 1; ${facts.settings.pageSize ?? ""} has no effect`,
        fix: "take --page-size out, or use --mamba-scheduler-strategy extra_buffer",
      },
    ],
    evidence: "server_args.py:2421-2427 (v0.5.11)",
  },
  {
    id: "R8c",
    subject: "no_buffer with radix cache and without speculative decoding",
    cases: [
      {
        builds: { before: "0.5.14" },
        when: (facts) =>
          isHybrid(facts) && meansNoBuffer(facts) && facts.settings.radixCache && !isSpeculative(facts),
        severity: "warning",
        setting: "mambaScheduler",
        message: "the overlap schedule is switched off, which costs throughput (auto means no_buffer here)",
        fix: "use --mamba-scheduler-strategy extra_buffer, or --disable-radix-cache",
      },
    ],
    evidence: "server_args.py:1746-1752 (v0.5.9), :2428-2433 (v0.5.11)",
  },
  {
    id: "R9",
    subject: "extra_buffer with a track interval or page size that it cannot work with",
    cases: [
      extraBuffer(
        ({ settings }) => settings.trackInterval < (settings.draftTokens ?? 0),
        "mamba_track_interval must not be smaller than speculative_num_draft_tokens",
        "raise --mamba-track-interval (default 256)",
      ),
      extraBuffer(
        ({ settings }) => settings.trackInterval % (settings.pageSize ?? 1) !== 0,
        "mamba_track_interval must be divisible by page_size",
        "use a --page-size that divides --mamba-track-interval (default 256)",
      ),
      extraBuffer(
        ({ settings }) => !divides(CHUNK, settings.pageSize ?? 1),
        `page_size and the kernels' chunk of ${CHUNK} tokens must divide one another`,
        "use a --page-size of 1, 2, 4, 8, 16, 32 or a multiple of 64",
      ),
    ],
    evidence: "server_args.py:1728-1745 (v0.5.9); 0.5.23 takes mamba_chunk_size of the config, if present",
  },
  {
    id: "R10",
    subject: "no_buffer, stated, with radix cache and what it does not go with",
    cases: [
      noBuffer(
        ({ settings }) => (settings.pageSize ?? 1) !== 1,
        "no_buffer only supports page_size=1.",
        "take --page-size out, or use extra_buffer",
      ),
      noBuffer(
        ({ settings }) => settings.overlapSchedule,
        "no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True.",
        "add --disable-overlap-schedule, or use extra_buffer",
      ),
      noBuffer(
        (facts) => attentionBackends(facts).includes("trtllm_mha"),
        "no_buffer do not support trtllm_mha attention backend.",
        "use another attention backend, or extra_buffer",
      ),
    ],
    evidence:
      "server_args.py:4356 (v0.5.14); arg_groups/mamba_hook.py:157 (0.5.23); overlap is on by default",
  },
  {
    id: "R31",
    subject: "flashinfer for linear-attention decode with no_buffer",
    cases: [
      {
        builds: { from: "0.5.10", before: "0.5.11" },
        when: (facts) =>
          isHybrid(facts) &&
          (facts.settings.linearAttentionDecode ?? facts.settings.linearAttention) === "flashinfer" &&
          meansNoBuffer(facts),
        severity: "error",
        setting: "extraArgs",
        message:
          "ValueError: FlashInfer GDN decode (--linear-attn-decode-backend flashinfer) is not compatible with --mamba-scheduler-strategy no_buffer",
        fix: "use --mamba-scheduler-strategy extra_buffer, or --linear-attn-decode-backend triton",
      },
    ],
    evidence: "server_args.py:2159 (v0.5.10)",
  },
  {
    id: "R38",
    subject: "extra_buffer_lazy with speculative decoding",
    cases: [
      {
        builds: { from: "0.5.13", before: "0.5.17" },
        when: (facts) => isHybrid(facts) && scheduler(facts) === "extra_buffer_lazy" && isSpeculative(facts),
        severity: "error",
        setting: "mambaScheduler",
        message: "AssertionError: extra_buffer_lazy is not yet supported with speculative decoding",
        fix: (facts) => `use ${schedulerFlag(facts)} extra_buffer`,
      },
      {
        builds: { from: "0.5.17", before: "0.5.18" },
        when: (facts) =>
          isHybrid(facts) &&
          scheduler(facts) === "extra_buffer_lazy" &&
          facts.settings.algorithm === "DFLASH",
        severity: "error",
        setting: "mambaScheduler",
        message: "extra_buffer_lazy does not go with DFLASH in this release",
        fix: (facts) => `use ${schedulerFlag(facts)} extra_buffer`,
      },
    ],
    evidence:
      "server_args.py:2708 (v0.5.13), :4373 (v0.5.14), :5593 (v0.5.17); arg_groups/mamba_hook.py:123 (0.5.23)",
  },
  {
    id: "R49",
    subject: "extra_buffer, stated, with another linear-attention backend than triton",
    cases: [
      {
        builds: { from: "0.5.14" },
        when: (facts) =>
          statesExtraBuffer(facts) && (facts.settings.linearAttention ?? "triton") !== "triton",
        severity: "error",
        setting: "extraArgs",
        message: (facts) =>
          `AssertionError: extra_buffer is not supported for ${facts.model?.architecture ?? ""}; use no_buffer.`,
        fix: "use --linear-attn-backend triton (its -decode and -prefill variants are not looked at)",
      },
    ],
    evidence:
      "server_args.py:4338-4367 (v0.5.14); arg_groups/overrides.py:438, arg_groups/mamba_hook.py:117 (0.5.23)",
  },
];
