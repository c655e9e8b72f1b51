/** Kernels that are compiled while a service runs. */
import type { Facts, Rule } from "../rule";

/** flashinfer's kernels, compiled beforehand. */
const COMPILED = "flashinfer-jit-cache";

/** Whether flashinfer compiles what this service needs: it attends or samples with it, and nothing is compiled yet. */
function compilesFlashinfer({ settings, packages }: Facts): boolean {
  if (packages?.["flashinfer-python"] === undefined || packages[COMPILED] !== undefined) return false;
  const { samplingBackend, attentionBackend, prefillAttentionBackend, decodeAttentionBackend } = settings;
  // Unless another is stated, SGLang samples with flashinfer wherever it is installed.
  const backends = [
    samplingBackend ?? "flashinfer",
    attentionBackend,
    prefillAttentionBackend,
    decodeAttentionBackend,
  ];
  return backends.includes("flashinfer");
}

export const COMPILER_RULES: readonly Rule[] = [
  {
    id: "M6",
    subject: "flashinfer without a compiler beside it",
    cases: [
      {
        when: (facts) => facts.env["CUDA_HOME"] === undefined && compilesFlashinfer(facts),
        severity: "error",
        setting: "environment",
        message:
          "flashinfer compiles its kernels while the service runs, and the container has no nvcc: the scheduler dies at the first sampled request of \"Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist\"",
        fix: "name a toolkit at the environment (`toolkit`); where nvcc is installed by other means, set CUDA_HOME in the service's `env`",
      },
    ],
    evidence:
      "seen with the real 0.5.11 environment (flashinfer 0.6.8.post1) in a bare Debian 12 container; a real server with nvcc compiled for about 121 s at its first sampled request",
  },
];
