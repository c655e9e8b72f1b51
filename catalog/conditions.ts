/** Words that the rules share: what hardware it is, what the server will choose by itself. */
import type { Facts } from "./rule";

export const major = (facts: Facts) => facts.gpu?.computeCapability[0];
export const isSm120 = (facts: Facts) => major(facts) === 12;
export const isSm100 = (facts: Facts) => major(facts) === 10;
export const isSm86 = (facts: Facts) => facts.gpu?.computeCapability.join(".") === "8.6";
/** As SGLang sees it (utils/common.py); all builds of the catalog bring a CUDA that is new enough. */
export const isBlackwell = (facts: Facts) => [10, 11, 12].includes(major(facts) ?? 0);

/** The capability as SGLang writes it: SM86, SM120. */
export const smOf = (facts: Facts) => `SM${facts.gpu?.computeCapability.join("") ?? "?"}`;

export const isHybrid = (facts: Facts) => facts.model?.linearAttention !== undefined;
export const isLatent = (facts: Facts) => facts.model?.latentAttention !== undefined;
export const isKimi = (facts: Facts) => facts.model?.architecture === "KimiK25ForConditionalGeneration";
export const isNvfp4 = (facts: Facts) =>
  ["modelopt_fp4", "modelopt_mixed"].includes(facts.settings.quantization ?? facts.model?.quantization ?? "");
export const isNvfp4Moe = (facts: Facts) => isNvfp4(facts) && facts.model?.mixtureOfExperts === true;

export const isSpeculative = (facts: Facts) => facts.settings.algorithm !== undefined;

/** Whether any flag states an attention backend. */
export const statesAttention = ({ settings }: Facts) =>
  settings.attentionBackend !== undefined ||
  (settings.prefillAttentionBackend !== undefined && settings.decodeAttentionBackend !== undefined);

/** What the server takes for attention when nothing is stated (R5). */
function defaultAttention(facts: Facts): string | undefined {
  if (![8, 12].includes(major(facts) ?? 0) || facts.model === undefined) return undefined;
  return isLatent(facts) ? "triton" : "flashinfer";
}

export const prefillBackend = (facts: Facts) =>
  facts.settings.prefillAttentionBackend ?? facts.settings.attentionBackend ?? defaultAttention(facts);
export const decodeBackend = (facts: Facts) =>
  facts.settings.decodeAttentionBackend ?? facts.settings.attentionBackend ?? defaultAttention(facts);
export const attentionBackends = (facts: Facts) =>
  [prefillBackend(facts), decodeBackend(facts)].filter((backend) => backend !== undefined);

/** The strategy for recurrent states as stated; nothing stated is auto. */
export const scheduler = (facts: Facts) => facts.settings.scheduler ?? "auto";
/** Up to 0.5.13 `auto` means no_buffer. */
export const meansNoBuffer = (facts: Facts) => ["auto", "no_buffer"].includes(scheduler(facts));

export const keyValueType = (facts: Facts) => facts.settings.keyValueType ?? "auto";

/** The flag that states the strategy in this release. */
export const schedulerFlag = (facts: Facts) =>
  facts.release.flags.some((flag) => flag.name === "--mamba-radix-cache-strategy")
    ? "--mamba-radix-cache-strategy"
    : "--mamba-scheduler-strategy";

/** "a, b or c". */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) as string}`;
}
