/** What a command line asks of the server, in terms that the rules use: independent of a release's spelling. */
import type { Arguments } from "./flags";

/** Settings of a server; what is undefined was not stated. */
export interface Settings {
  readonly attentionBackend?: string;
  readonly prefillAttentionBackend?: string;
  readonly decodeAttentionBackend?: string;
  readonly samplingBackend?: string;
  readonly keyValueType?: string;
  readonly quantization?: string;
  readonly moeRunner?: string;
  readonly fp4Gemm?: string;
  readonly tensorParallel: number;
  readonly pipelineParallel: number;
  readonly expertParallel: number;
  readonly algorithm?: string;
  readonly steps?: number;
  readonly topk?: number;
  readonly draftTokens?: number;
  readonly draftModel?: string;
  readonly draftQuantization?: string;
  readonly speculativeMoeRunner?: string;
  readonly scheduler?: string;
  /** Tokens between two kept recurrent states. */
  readonly trackInterval: number;
  readonly linearAttention?: string;
  readonly linearAttentionDecode?: string;
  readonly pageSize?: number;
  readonly maxRunningRequests?: number;
  readonly contextLength?: number;
  readonly radixCache: boolean;
  readonly overlapSchedule: boolean;
  readonly customAllReduce: boolean;
  readonly allReduceFusion: boolean;
}

/** The settings that a command line states. */
export function readSettings({ values }: Pick<Arguments, "values">): Settings {
  const text = (...names: string[]) =>
    names.map((name) => values.get(name)?.[0]).find((value) => value !== undefined);
  const number = (...names: string[]) => {
    const value = text(...names);
    return value === undefined || value === "" || Number.isNaN(Number(value)) ? undefined : Number(value);
  };
  const optional = {
    attentionBackend: text("--attention-backend"),
    prefillAttentionBackend: text("--prefill-attention-backend"),
    decodeAttentionBackend: text("--decode-attention-backend"),
    samplingBackend: text("--sampling-backend"),
    keyValueType: text("--kv-cache-dtype"),
    quantization: text("--quantization"),
    moeRunner: text("--moe-runner-backend"),
    fp4Gemm: text("--fp4-gemm-backend"),
    algorithm: text("--speculative-algorithm"),
    steps: number("--speculative-num-steps"),
    topk: number("--speculative-eagle-topk"),
    draftTokens: number("--speculative-num-draft-tokens"),
    draftModel: text("--speculative-draft-model-path"),
    draftQuantization: text("--speculative-draft-model-quantization"),
    speculativeMoeRunner: text("--speculative-moe-runner-backend"),
    scheduler: text("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"),
    linearAttention: text("--linear-attn-backend"),
    linearAttentionDecode: text("--linear-attn-decode-backend"),
    pageSize: number("--page-size"),
    maxRunningRequests: number("--max-running-requests"),
    contextLength: number("--context-length"),
  };
  const stated = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return {
    ...(stated as Partial<Settings>),
    tensorParallel: number("--tp-size") ?? 1,
    pipelineParallel: number("--pp-size") ?? 1,
    expertParallel: number("--ep-size") ?? 1,
    trackInterval: number("--mamba-track-interval") ?? 256,
    radixCache: !values.has("--disable-radix-cache"),
    overlapSchedule: !values.has("--disable-overlap-schedule"),
    customAllReduce: !values.has("--disable-custom-all-reduce"),
    allReduceFusion:
      values.has("--enable-flashinfer-allreduce-fusion") ||
      values.has("--flashinfer-allreduce-fusion-backend"),
  };
}
