/** Attention backends: what each build accepts on which card. */
import {
  attentionBackends,
  decodeBackend,
  isBlackwell,
  isHybrid,
  isLatent,
  isSm100,
  isSm120,
  keyValueType,
  listed,
  major,
  prefillBackend,
  smOf,
  statesAttention,
} from "../conditions";
import type { Facts, Rule, RuleCase } from "../rule";
import type { BuildRange } from "../versions";

const states = (facts: Facts, backend: string) => attentionBackends(facts).includes(backend);

/** One row of R1: the backends that a range of builds accepts for hybrid GDN on a kind of Blackwell. */
function accepted(
  builds: BuildRange,
  backends: readonly string[],
  card: (facts: Facts) => boolean = isBlackwell,
  text = `${listed(backends)} are the only supported backends on Blackwell GPUs for hybrid GDN models`,
): RuleCase<Facts> {
  return {
    builds,
    when: (facts) =>
      isHybrid(facts) &&
      card(facts) &&
      statesAttention(facts) &&
      attentionBackends(facts).some((backend) => !backends.includes(backend)),
    severity: "error",
    setting: "attentionBackend",
    message: (facts) =>
      `the server ends with an AssertionError while it loads: ${text} (got prefill ${prefillBackend(facts) ?? "?"}, decode ${decodeBackend(facts) ?? "?"})`,
    // The server's own text also offers trtllm_mha, which R2 or R39 then refuses on SM120.
    fix: (facts) =>
      `use --attention-backend ${listed(backends.filter((backend) => !(isSm120(facts) && ["trtllm_mha", "fa4"].includes(backend))))}`,
  };
}

const only = (backends: string) =>
  `Only {${backends}} backends are supported on Blackwell GPUs for hybrid GDN models`;

const notSm120 = (facts: Facts) => isBlackwell(facts) && !isSm120(facts);

const TRTLLM_PAGES = { to_0_5_16: [16, 32, 64], from_0_5_17: [16, 32, 64, 128] };

const strangePage = (facts: Facts, pages: readonly number[]) =>
  states(facts, "trtllm_mha") &&
  facts.settings.pageSize !== undefined &&
  !pages.includes(facts.settings.pageSize);

/** Backends that force a page size: R6. */
function forcedPage(backend: string, pages: readonly number[], builds: BuildRange = {}): RuleCase<Facts> {
  return {
    builds,
    when: (facts) =>
      states(facts, backend) &&
      (backend !== "fa4" || (isSm100(facts) && !isLatent(facts))) &&
      facts.settings.pageSize !== undefined &&
      !pages.includes(facts.settings.pageSize),
    severity: "warning",
    setting: "extraArgs",
    message: (facts) =>
      `${backend} works with a page size of ${listed(pages.map(String))}; ${facts.settings.pageSize ?? ""} is replaced or refused`,
    fix: `use --page-size ${listed(pages.map(String))}, or leave it out`,
  };
}

export const ATTENTION_RULES: readonly Rule[] = [
  {
    id: "R1",
    subject: "hybrid GDN model on a Blackwell GPU with an attention backend that the build does not accept",
    cases: [
      accepted({ from: "0.5.6", before: "2026-02-27" }, ["triton", "trtllm_mha"]),
      accepted(
        { from: "2026-02-27", before: "2026-03-17" },
        ["triton", "trtllm_mha", "fa4"],
        isBlackwell,
        "triton or trtllm_mha or fa4 backend are the only supported backends on Blackwell GPUs for hybrid GDN models, use --attention-backend triton or --attention-backend trtllm_mha to specify the backend.",
      ),
      accepted({ from: "2026-03-17", before: "0.5.16" }, ["triton", "trtllm_mha", "fa4", "flashinfer"]),
      accepted(
        { from: "0.5.16" },
        ["triton", "trtllm_mha", "flashinfer"],
        isSm120,
        only("'triton', 'trtllm_mha', 'flashinfer'"),
      ),
      accepted(
        { from: "0.5.16", before: "0.5.21" },
        ["triton", "trtllm_mha", "fa4"],
        notSm120,
        only("'triton', 'trtllm_mha', 'fa4'"),
      ),
      accepted(
        { from: "0.5.21" },
        ["triton", "trtllm_mha", "fa4", "flashinfer"],
        notSm120,
        only("'triton', 'trtllm_mha', 'fa4', 'flashinfer'"),
      ),
    ],
    evidence:
      "layers/attention/attention_registry.py:203-206 (v0.5.9), :238 (v0.5.11), :399-411 (v0.5.18), :474 (0.5.23); e567215e44 #19388; 88c40ec16d #20604; ec6a3163b7 #21601",
  },
  {
    id: "R2",
    subject: "attention backend trtllm_mha on a GPU that it does not run on",
    cases: [
      {
        builds: { before: "0.5.10" },
        when: (facts) => states(facts, "trtllm_mha") && facts.gpu !== undefined && !isSm100(facts),
        severity: "error",
        setting: "attentionBackend",
        message: (facts) =>
          `ValueError on ${smOf(facts)}: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100)`,
        fix: "use --attention-backend triton",
      },
      {
        builds: { from: "0.5.10", before: "0.5.19" },
        when: (facts) => prefillBackend(facts) === "trtllm_mha" && facts.gpu !== undefined && !isSm100(facts),
        severity: "error",
        setting: "attentionBackend",
        message: (facts) =>
          `ValueError on ${smOf(facts)}: TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100)`,
        fix: "use --attention-backend triton",
      },
      {
        builds: { from: "0.5.19" },
        when: (facts) =>
          states(facts, "trtllm_mha") && facts.gpu !== undefined && ![9, 10, 12].includes(major(facts) ?? 0),
        severity: "error",
        setting: "attentionBackend",
        message: (facts) =>
          `ValueError on ${smOf(facts)}: TRTLLM MHA backend requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs.`,
        fix: "use --attention-backend flashinfer or triton",
      },
      {
        builds: { from: "0.5.10", before: "0.5.19" },
        when: (facts) =>
          decodeBackend(facts) === "trtllm_mha" &&
          prefillBackend(facts) !== "trtllm_mha" &&
          facts.gpu !== undefined &&
          ![9, 10, 12].includes(major(facts) ?? 0),
        severity: "error",
        setting: "attentionBackend",
        message: (facts) => `ValueError on ${smOf(facts)}: TRTLLM MHA decodes on SM90, SM100 and SM120 only`,
        fix: "use --decode-attention-backend flashinfer or triton",
      },
      {
        builds: { from: "0.5.19" },
        when: (facts) => isSm120(facts) && prefillBackend(facts) === "trtllm_mha",
        severity: "warning",
        setting: "attentionBackend",
        message: "trtllm_mha prefill on SM120 (FMHAv2) is new in 0.5.19 and has no record here",
        fix: "use --attention-backend triton until a semantic probe has passed",
      },
    ],
    evidence:
      "server_args.py:2373-2388 (v0.5.10), :2629-2644 (v0.5.11), :6016-6024 (v0.5.18); arg_groups/attention_hook.py:137 (0.5.19), :204 (0.5.23)",
  },
  {
    id: "R3",
    subject: "attention backend trtllm_mha with another page size than it knows, or with topk above 1",
    cases: [
      {
        builds: { before: "0.5.17" },
        when: (facts) => strangePage(facts, TRTLLM_PAGES.to_0_5_16),
        severity: "warning",
        setting: "extraArgs",
        message: "TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size to 64",
        fix: "use --page-size 64",
      },
      {
        builds: { from: "0.5.17" },
        when: (facts) => strangePage(facts, TRTLLM_PAGES.from_0_5_17),
        severity: "warning",
        setting: "extraArgs",
        message: "TensorRT-LLM MHA only supports page_size of 16, 32, 64 or 128, changing page_size to 64",
        fix: "use --page-size 64",
      },
      {
        when: (facts) => states(facts, "trtllm_mha") && (facts.settings.topk ?? 1) > 1,
        severity: "error",
        setting: "speculative.topk",
        message: "trtllm_mha supports speculative decoding with topk 1 only",
        fix: "set topk to 1",
      },
    ],
    evidence: "server_args.py, attention compatibility block; read in 0.5.9 to 0.5.23",
  },
  {
    id: "R4",
    subject: "hybrid GDN model on SM120 without a stated attention backend, up to main of 2026-03-17",
    cases: [
      {
        builds: { before: "2026-03-17" },
        when: (facts) => isHybrid(facts) && isSm120(facts) && !statesAttention(facts),
        severity: "error",
        setting: "attentionBackend",
        message:
          "without --attention-backend it becomes flashinfer, which this build refuses for hybrid GDN on Blackwell (R1): the automatic triton is for compute capability 10 only",
        fix: "use --attention-backend triton",
      },
    ],
    evidence: "server_args.py:1699-1714 (v0.5.9)",
  },
  {
    id: "R5",
    subject: "no stated attention backend on SM86 or SM120",
    cases: [
      {
        when: (facts) => !statesAttention(facts) && prefillBackend(facts) !== undefined,
        severity: "info",
        setting: "attentionBackend",
        message: (facts) =>
          `without --attention-backend the server takes ${prefillBackend(facts) ?? ""} on ${smOf(facts)} (flashinfer for ordinary attention, triton for MLA)`,
        fix: "state the backend, so that the running server can be compared with it",
      },
    ],
    evidence:
      "server_args.py:1797-1833 (v0.5.9), :2464-2535 (v0.5.11); arg_groups/model_override_base.py:277 (0.5.23)",
  },
  {
    id: "R6",
    subject: "attention backend with a fixed page size, and another one stated",
    cases: [
      forcedPage("fa4", [128]),
      forcedPage("flashmla", [64]),
      forcedPage("cutlass_mla", [128], { before: "0.5.20" }),
      forcedPage("trtllm_mla", [32, 64]),
    ],
    evidence: "server_args.py, attention compatibility block; arg_groups/overrides.py:1144 (0.5.23)",
  },
  {
    id: "R39",
    subject: "trtllm_mha prefill on SM120 with an FP8 KV cache, stated or taken from the checkpoint",
    cases: [
      {
        builds: { from: "0.5.19" },
        when: (facts) =>
          isSm120(facts) && prefillBackend(facts) === "trtllm_mha" && keyValueType(facts) === "fp8_e4m3",
        severity: "error",
        setting: "kvCacheDtype",
        message:
          "ValueError: TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.",
        fix: "use --kv-cache-dtype bf16, or --attention-backend triton",
      },
      {
        builds: { from: "0.5.19" },
        when: (facts) =>
          isSm120(facts) &&
          prefillBackend(facts) === "trtllm_mha" &&
          keyValueType(facts) === "auto" &&
          facts.model?.fp8KeyValueCache === true,
        severity: "error",
        setting: "kvCacheDtype",
        message:
          "auto passes the start-up check and becomes fp8_e4m3 at load (R28), which TRTLLM FMHAv2 prefill on SM120 does not support",
        fix: "use --kv-cache-dtype bf16, or --attention-backend triton",
      },
    ],
    evidence: "arg_groups/attention_hook.py:152 (0.5.19), :219 (0.5.23)",
  },
];
