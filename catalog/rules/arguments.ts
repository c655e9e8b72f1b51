/** Command lines and environment variables that a release does not know. */
import type { ArgumentProblem } from "../flags";
import type { Facts, Rule, RuleCase } from "../rule";
import { inRange } from "../versions";

type Kind = ArgumentProblem["kind"];

/** Settings of a stack file behind the flags whose values the release checks. */
const SETTINGS: Readonly<Record<string, string>> = {
  "--attention-backend": "attentionBackend",
  "--kv-cache-dtype": "kvCacheDtype",
  "--quantization": "quantization",
  "--moe-runner-backend": "moeRunnerBackend",
  "--fp4-gemm-backend": "fp4GemmBackend",
  "--reasoning-parser": "reasoningParser",
  "--tool-call-parser": "toolCallParser",
  "--mamba-scheduler-strategy": "mambaScheduler",
  "--mamba-radix-cache-strategy": "mambaScheduler",
};

/** The setting that an argument comes from. */
function settingOf(facts: Facts, argument: string): string {
  const name = argument.split(" ")[0] ?? "";
  const writtenOut = facts.extraArgs?.some((extra) => extra.split("=")[0] === name) === true;
  return (writtenOut ? undefined : SETTINGS[name]) ?? "extraArgs";
}

/** Arguments with such a problem; a wrong speculative algorithm has a rule of its own from 0.5.12 (R46). */
const argumentsOf = (facts: Facts, kinds: readonly Kind[]) =>
  facts.arguments.problems
    .filter(({ kind, argument }) => {
      const late = kind === "choice" && argument.startsWith("--speculative-algorithm ");
      return kinds.includes(kind) && !(late && inRange(facts.build, { from: "0.5.12" }));
    })
    .map(({ argument }) => argument);

const problemOf = (facts: Facts, subject: string) =>
  facts.arguments.problems.find(({ argument }) => argument === subject);

/** Every argument with one of these problems. */
function argumentsWith(kinds: readonly Kind[], severity: "error" | "warning"): RuleCase<Facts> {
  return {
    when: (facts) => argumentsOf(facts, kinds).length > 0,
    each: (facts) => argumentsOf(facts, kinds),
    severity,
    setting: settingOf,
    message: (facts, argument) => problemOf(facts, argument)?.message ?? "",
    fix: (facts, argument) => problemOf(facts, argument)?.fix ?? "",
  };
}

/** A variable that builds from `from` on no longer read. */
function dead(name: string, from: string): RuleCase<Facts> {
  return {
    builds: { from },
    when: (facts) => facts.env[name] !== undefined,
    severity: "warning",
    setting: `env.${name}`,
    message: `${name} is not read any more from ${from}`,
    fix: "take it out",
  };
}

/** Variables that have rules of their own. */
const KNOWN_VARIABLES = [
  "SGLANG_ENABLE_SPEC_V2",
  "SGLANG_FLASHINFER_FP4_GEMM_BACKEND",
  "SGLANG_DISABLE_CUDNN_CHECK",
  "SGLANG_CUTLASS_MOE",
  "SGLANG_ENABLE_PCIE_IPC_ALLREDUCE",
];

const unknownVariables = (facts: Facts) =>
  Object.keys(facts.env).filter(
    (name) =>
      /^SGL(ANG)?_/.test(name) &&
      !KNOWN_VARIABLES.includes(name) &&
      !facts.release.environment.includes(name),
  );

export const ARGUMENT_RULES: readonly Rule[] = [
  {
    id: "R40",
    subject: "flag after its removal",
    cases: [argumentsWith(["removed"], "error")],
    evidence: "the parsers of 0.5.9 to 0.5.23, run; argparse exits with 2 and /server_info never appears",
  },
  {
    id: "R41",
    subject: "choice after its removal",
    cases: [argumentsWith(["removed-choice"], "error")],
    evidence: 'the parsers of 0.5.9 to 0.5.23, run: "invalid choice", exit 2',
  },
  {
    id: "unknown-argument",
    subject: "argument that the release does not know",
    cases: [argumentsWith(["unknown", "ambiguous"], "error")],
    evidence: "the release's own argument parser",
  },
  {
    id: "invalid-value",
    subject: "value that the release's parser refuses",
    cases: [argumentsWith(["choice", "value"], "error")],
    evidence: "the release's own argument parser",
  },
  {
    id: "deprecated-argument",
    subject: "argument that the release calls deprecated",
    cases: [argumentsWith(["deprecated"], "warning")],
    evidence: "the release's own argument parser",
  },
  {
    id: "abbreviated-argument",
    subject: "flag that is not spelt out",
    cases: [argumentsWith(["abbreviation"], "warning")],
    evidence: "argparse completes prefixes; --cuda-graph-max-bs died that way in 0.5.20 (R40)",
  },
  {
    id: "R44",
    subject: "environment variables that do nothing any more",
    cases: [
      {
        builds: { before: "0.5.10" },
        when: (facts) =>
          facts.env["SGLANG_FLASHINFER_FP4_GEMM_BACKEND"] !== undefined && facts.settings.fp4Gemm !== "auto",
        severity: "warning",
        setting: "env.SGLANG_FLASHINFER_FP4_GEMM_BACKEND",
        message: "SGLANG_FLASHINFER_FP4_GEMM_BACKEND is obeyed with --fp4-gemm-backend auto only",
        fix: "take it out and use fp4GemmBackend",
      },
      dead("SGLANG_FLASHINFER_FP4_GEMM_BACKEND", "0.5.10"),
      dead("SGLANG_DISABLE_CUDNN_CHECK", "0.5.10"),
      dead("SGLANG_CUTLASS_MOE", "0.5.18"),
    ],
    evidence: "layers/quantization/fp4_utils.py:61 (v0.5.9); 4df74eb576 #16534",
  },
  {
    id: "unknown-variable",
    subject: "SGLANG_ or SGL_ variable that the release does not mention",
    cases: [
      {
        when: (facts) => unknownVariables(facts).length > 0,
        severity: "warning",
        setting: "env",
        message: (facts) =>
          `SGLang ${facts.release.version} does not know ${unknownVariables(facts).join(", ")}`,
        fix: "check the spelling, or take it out",
      },
    ],
    evidence: "the Python files of the release's wheel",
  },
];
