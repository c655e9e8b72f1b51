import type { DevelopmentBuild, PackageConstraint } from "./types";

/**
 * Development builds. A commit that is not here is unknown: add it with its date on the main branch and the
 * releases around it, so that the rules know what it holds.
 */
export const DEVELOPMENT_BUILDS: readonly DevelopmentBuild[] = [
  {
    name: "main-20260307",
    commit: "f88acf8780",
    date: "2026-03-07",
    after: "0.5.9",
    before: "0.5.10rc0",
    evidence:
      "main of about 2026-03-07 served Qwen3.5-397B-A17B-NVFP4; the exact commit was not recorded, f88acf8780 (#20012) is of that day",
  },
  {
    name: "main-20260227",
    commit: "e567215e44",
    date: "2026-02-27",
    after: "0.5.9",
    before: "0.5.10rc0",
    evidence: "e567215e44 #19388: fa4 for hybrid GDN on Blackwell",
  },
  {
    name: "main-20260317",
    commit: "88c40ec16d",
    date: "2026-03-17",
    after: "0.5.9",
    before: "0.5.10rc0",
    evidence: "88c40ec16d #20604: flashinfer for hybrid GDN on Blackwell",
  },
];

/** Combinations that break although every package's own pins allow them. */
export const PACKAGE_CONSTRAINTS: readonly PackageConstraint[] = [
  {
    id: "P2",
    when: { package: "transformers", versions: "==5.6.0" },
    package: "kernels",
    versions: ">=0.12,<0.13",
    consequence: "transformers 5.6.0 cannot be imported",
    severity: "error",
    evidence: "seen with a real 0.5.11 environment: kernels 0.17",
  },
  {
    id: "P3",
    when: { package: "transformers", versions: "==5.6.0" },
    package: "tokenizers",
    versions: "<=0.23.0",
    consequence: "transformers 5.6.0 refuses to start",
    severity: "error",
    evidence: "seen with a real 0.5.11 environment: tokenizers 0.23.2",
  },
  {
    id: "P4",
    when: { package: "sglang", versions: "==0.5.11" },
    package: "fastapi",
    versions: "<0.165",
    consequence: "with --enable-metrics /v1/loads answers 500",
    severity: "warning",
    evidence: "seen with a real 0.5.11 server: fastapi 0.165 with starlette 1.10",
  },
  {
    id: "P5",
    when: { package: "sglang", versions: "==0.5.11" },
    package: "starlette",
    versions: "<1.10",
    consequence: "with --enable-metrics /v1/loads answers 500",
    severity: "warning",
    evidence: "seen with a real 0.5.11 server: fastapi 0.165 with starlette 1.10",
  },
];
