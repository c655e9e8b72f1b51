/** Releases, Python and packages: what an environment must hold for a model to be served right. */
import { lt, satisfies } from "@renovatebot/pep440";
import { isHybrid, isSm86 } from "../conditions";
import type { Facts, Rule } from "../rule";
import { buildName, inRange, isOlder } from "../versions";

/** Names of the package with the kernels, new and old. */
const KERNELS = ["sglang-kernel", "sgl-kernel"];

const minimum = (facts: Facts, name: string) => /==([^,]+)/.exec(facts.release.pins[name] ?? "")?.[1];
const publicVersion = (version: string) => version.replace(/\+.*$/, "");

/** The engine's own lower bound where it is not the pin. */
const bound = (facts: Facts, name: string) =>
  name === "sglang-kernel" && inRange(facts.build, { from: "0.5.23", before: "0.5.24" })
    ? "0.4.9"
    : minimum(facts, name);

/** Packages that the engine itself refuses: name, version, lower bound. */
function tooOld(facts: Facts): { name: string; version: string; least: string } | undefined {
  for (const name of [...KERNELS, "flashinfer-python"]) {
    const version = facts.packages?.[name];
    const least = bound(facts, name);
    if (version !== undefined && least !== undefined && lt(publicVersion(version), least)) {
      return { name, version, least };
    }
  }
  return undefined;
}

const kernelOf = (facts: Facts) =>
  KERNELS.map((name) => facts.packages?.[name]).find((version) => version !== undefined);
const releaseKernel = (facts: Facts) =>
  KERNELS.map((name) => minimum(facts, name)).find((version) => version !== undefined);

const flashinferParts = (facts: Facts) =>
  ["flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"].flatMap((name) => {
    const version = facts.packages?.[name];
    return version === undefined ? [] : [{ name, version: publicVersion(version) }];
  });

const partsDiffer = (facts: Facts, names: readonly string[]) => {
  const versions = flashinferParts(facts)
    .filter(({ name }) => names.includes(name))
    .map(({ version }) => version);
  return new Set(versions).size > 1 && facts.env["FLASHINFER_DISABLE_VERSION_CHECK"] !== "1";
};

const partsInWords = (facts: Facts) =>
  flashinferParts(facts)
    .map(({ name, version }) => `${name} ${version}`)
    .join(", ");

const isDenseHybrid = (facts: Facts) => isHybrid(facts) && facts.model?.mixtureOfExperts === false;

export const PACKAGE_RULES: readonly Rule[] = [
  {
    id: "R30",
    subject: "Qwen3.5/3.6 (hybrid GDN) on a release that computes it wrongly",
    cases: [
      {
        builds: { before: "0.5.10" },
        when: isDenseHybrid,
        severity: "error",
        setting: "release",
        message: (facts) =>
          `${buildName(facts.build)} gives degenerate text with this model: it lacks #19411 (repetition), #19070 (dense, several GPUs) and #19961; another attention backend does not help`,
        fix: "use 0.5.11 or newer",
      },
      {
        builds: { from: "0.5.10", before: "0.5.11" },
        when: isDenseHybrid,
        severity: "warning",
        setting: "release",
        message: (facts) =>
          `${buildName(facts.build)} computes this model less accurately: #22312 came with 0.5.11`,
        fix: "use 0.5.11 or newer",
      },
      {
        builds: { before: "0.5.10" },
        when: (facts) => isHybrid(facts) && facts.model?.mixtureOfExperts === true,
        severity: "warning",
        setting: "release",
        message: (facts) =>
          `${buildName(facts.build)} comes before the corrections of this family's GDN layers (0.5.10)`,
        fix: "use 0.5.13 or newer",
      },
    ],
    evidence: "#19411, #19070, #19961 (0.5.10), #22312 (0.5.11); seen with Qwen3.6-27B on 0.5.9",
  },
  {
    id: "M1",
    subject: "release older than the model's card asks for",
    cases: [
      {
        when: (facts) => {
          const least = facts.model?.minimumRelease;
          return least !== undefined && inRange(facts.build, { before: least });
        },
        severity: "error",
        setting: "release",
        message: (facts) =>
          `the card of ${facts.model?.name ?? "the model"} asks for sglang>=${facts.model?.minimumRelease ?? ""}, this is ${buildName(facts.build)}`,
        fix: (facts) => `use ${facts.model?.minimumRelease ?? ""} or newer`,
      },
    ],
    evidence: "the model's card, as the catalog records it",
  },
  {
    id: "R32",
    subject: "kernels or flashinfer older than the engine accepts",
    cases: [
      {
        when: (facts) =>
          tooOld(facts) !== undefined && facts.env["SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK"] !== "1",
        severity: "error",
        setting: "environment",
        message: (facts) => {
          const old = tooOld(facts);
          return `the engine refuses ${old?.name ?? ""} ${old?.version ?? ""}: it asks for ${old?.least ?? ""} or newer`;
        },
        fix: "lock the release's own pins",
      },
    ],
    evidence: "version checks at start-up, read in 0.5.9 to 0.5.23 (0.5.23 accepts sglang-kernel 0.4.9)",
  },
  {
    id: "R33",
    subject: "torch 2.9.1 with a cuDNN before 9.15 and a multimodal model",
    cases: [
      {
        builds: { before: "0.5.10" },
        when: (facts) => {
          const cudnn = facts.packages?.["nvidia-cudnn-cu12"];
          return (
            facts.packages?.["torch"] !== undefined &&
            publicVersion(facts.packages["torch"]) === "2.9.1" &&
            cudnn !== undefined &&
            lt(cudnn, "9.15") &&
            facts.model?.architecture.endsWith("ForConditionalGeneration") === true &&
            facts.env["SGLANG_DISABLE_CUDNN_CHECK"] !== "1"
          );
        },
        severity: "error",
        setting: "environment",
        message: (facts) =>
          `RuntimeError: torch 2.9.1 with cuDNN ${facts.packages?.["nvidia-cudnn-cu12"] ?? ""} and a multimodal model`,
        fix: "lock nvidia-cudnn-cu12==9.16.0.29",
      },
    ],
    evidence: "server_args.py:5263 (v0.5.9); dropped in 0.5.10",
  },
  {
    id: "R34",
    subject: "parts of flashinfer with different versions",
    cases: [
      {
        when: (facts) =>
          partsDiffer(facts, ["flashinfer-python", "flashinfer-jit-cache"]) ||
          (partsDiffer(facts, ["flashinfer-python", "flashinfer-cubin"]) &&
            lt(publicVersion(facts.packages?.["flashinfer-python"] ?? "0"), "0.7.2")),
        severity: "error",
        setting: "environment",
        message: (facts) => `RuntimeError at import: versions differ: ${partsInWords(facts)}`,
        fix: "lock equal versions; from 0.5.16 flashinfer-cubin is no longer needed: take it out",
      },
      {
        when: (facts) =>
          partsDiffer(facts, ["flashinfer-python", "flashinfer-cubin"]) &&
          !lt(publicVersion(facts.packages?.["flashinfer-python"] ?? "0"), "0.7.2"),
        severity: "warning",
        setting: "environment",
        message: (facts) => `flashinfer-cubin has another version and is not used: ${partsInWords(facts)}`,
        fix: "take flashinfer-cubin out of the lock",
      },
    ],
    evidence: "flashinfer/jit/env.py of 0.6.14, 0.6.17, 0.6.18, 0.7.1, 0.7.2",
  },
  {
    id: "R36",
    subject: "the release's kernel wheel with another torch",
    cases: [
      {
        when: (facts) => {
          const torch = facts.packages?.["torch"];
          const pinned = minimum(facts, "torch");
          return (
            torch !== undefined &&
            pinned !== undefined &&
            publicVersion(torch) !== pinned &&
            kernelOf(facts) !== undefined &&
            kernelOf(facts) === releaseKernel(facts)
          );
        },
        severity: "error",
        setting: "environment",
        message: (facts) =>
          `undefined symbol at import: the kernel wheel ${kernelOf(facts) ?? ""} is built for torch ${minimum(facts, "torch") ?? ""}, the lock has ${facts.packages?.["torch"] ?? ""}`,
        fix: "build the kernels for this torch, or lock the release's torch",
      },
    ],
    evidence:
      "#18203, #29317; PR #30562; kernel 0.4.7 declares torch==2.13.0, 0.4.9 and 0.4.10 torch==2.14.1",
  },
  {
    id: "R37",
    subject: "RTX A6000 with the kernels of 0.5.18 to 0.5.21",
    cases: [
      {
        builds: { from: "0.5.18", before: "0.5.22" },
        when: isSm86,
        severity: "warning",
        setting: "release",
        message: '"no kernel image" was reported on SM86 with sglang-kernel 0.4.6.post1 and 0.4.7',
        fix: "use 0.5.11 on this card, or let the smoke test decide",
      },
    ],
    evidence: "#38515, #35526, #32431 (reports; not explained by the wheels, which hold sm_80 code)",
  },
  {
    id: "R42",
    subject: "Python that the release has no wheel for",
    cases: [
      {
        when: (facts) =>
          facts.python !== undefined && !satisfies(`${facts.python}.99`, facts.release.requiresPython),
        severity: "error",
        setting: "environment",
        message: (facts) =>
          `SGLang ${facts.release.version} requires Python ${facts.release.requiresPython}, the environment has ${facts.python ?? ""}`,
        fix: (facts) =>
          `set the environment's python to "3.11"${isOlder(facts.release.version, "0.5.22") ? " (3.10 is enough)" : ""}`,
      },
      {
        builds: { from: "0.5.11" },
        when: (facts) => facts.python !== undefined && Number(facts.python.split(".")[1]) > 13,
        severity: "error",
        setting: "environment",
        message: (facts) =>
          `there is no wheel for Python ${facts.python ?? ""}: the install becomes a source build with Rust`,
        fix: 'set the environment\'s python to "3.12"',
      },
    ],
    evidence:
      "metadata and tags of the wheels on PyPI (cp310-cp313, from 0.5.22 cp311-cp313; manylinux_2_34)",
  },
];
