import type { RuleRow } from "./rule-row";
import { NEXTN, EXTRA, NVFP4, KIMI } from "./shared";

export const SPECULATION_ROWS: readonly RuleRow[] = [
  {
    rule: "R11",
    fires: [
      { release: "0.5.10", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.14", env: { SGLANG_ENABLE_SPEC_V2: "1" } },
    ],
    silent: [
      { release: "0.5.9", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.13.post1", env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      { release: "0.5.10", args: `${NEXTN} ${EXTRA}`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
    ],
  },
  {
    rule: "R12",
    fires: [
      { release: "0.5.11", args: `${NEXTN} --speculative-eagle-topk 2`, env: { SGLANG_ENABLE_SPEC_V2: "1" } },
      {
        release: "0.5.10",
        args: `${NEXTN} --speculative-eagle-topk 2`,
        env: { SGLANG_ENABLE_SPEC_V2: "true" },
      },
      { release: "0.5.12.post1", args: `${NEXTN} --speculative-eagle-topk 2` },
    ],
    silent: [
      { release: "0.5.10", args: `${NEXTN} --speculative-eagle-topk 2` },
      { release: "0.5.13", args: `${NEXTN} --speculative-eagle-topk 2` },
    ],
  },
  {
    rule: "R13",
    fires: [{ release: "0.5.11", args: `${NEXTN} --speculative-num-draft-tokens 8` }],
    silent: [{ release: "0.5.11", args: `${NEXTN} --speculative-num-draft-tokens 4` }],
  },
  {
    rule: "R14",
    fires: [{ release: "0.5.11", args: "--speculative-algorithm NEXTN --speculative-eagle-topk 1" }],
    silent: [
      { release: "0.5.11", args: "--speculative-algorithm NEXTN" },
      { release: "0.5.11", args: NEXTN },
    ],
  },
  {
    rule: "R15",
    fires: [
      {
        release: "0.5.12",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend triton`,
      },
    ],
    silent: [
      {
        release: "0.5.13",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend triton`,
      },
      {
        release: "0.5.12",
        args: `${NEXTN} --speculative-eagle-topk 2 --page-size 16 --attention-backend flashinfer`,
      },
    ],
  },
  {
    rule: "R16",
    fires: [
      { release: "0.5.11", args: NEXTN },
      {
        release: "0.5.20",
        args: `${NEXTN} --max-running-requests 4 --pp-size 2`,
        env: { SGLANG_ENABLE_PP_SPEC: "1" },
      },
      { release: "0.5.11", args: `${NEXTN} --max-running-requests 4 --attention-backend flex_attention` },
      {
        ...KIMI,
        release: "0.5.12",
        args: "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 2 --max-running-requests 4 --attention-backend flashinfer",
      },
    ],
    silent: [
      { release: "0.5.11", args: `${NEXTN} --max-running-requests 4` },
      {
        release: "0.5.21",
        args: `${NEXTN} --max-running-requests 4 --pp-size 2`,
        env: { SGLANG_ENABLE_PP_SPEC: "1" },
      },
    ],
  },
  {
    rule: "R17",
    fires: [
      { ...KIMI, release: "0.5.9", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.11", draft: "kimi-k2.5-eagle3-mla", args: "--speculative-algorithm EAGLE3" },
    ],
    silent: [
      { ...KIMI, release: "0.5.10", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.11", args: "--speculative-algorithm EAGLE3" },
      { ...KIMI, release: "0.5.12", draft: "kimi-k2.5-eagle3-mla", args: "--speculative-algorithm EAGLE3" },
    ],
  },
  {
    rule: "R18",
    fires: [{ release: "0.5.11", args: "--speculative-moe-runner-backend flashinfer_trtllm" }],
    silent: [{ release: "0.5.12", args: "--speculative-moe-runner-backend flashinfer_trtllm" }],
  },
  {
    rule: "R46",
    fires: [{ release: "0.5.12", args: "--speculative-algorithm NEXTM" }],
    silent: [
      { release: "0.5.11", args: "--speculative-algorithm NEXTM" },
      { release: "0.5.12", args: "--speculative-algorithm NEXTN" },
      { release: "0.5.16", args: "--speculative-algorithm DSPARK" },
    ],
  },
  {
    rule: "R47",
    fires: [
      { ...NVFP4, release: "0.5.12", args: "--quantization modelopt_fp4 --speculative-draft-model-path /d" },
    ],
    silent: [
      {
        ...NVFP4,
        release: "0.5.12",
        args: "--quantization modelopt_fp4 --speculative-draft-model-path /d --speculative-draft-model-quantization unquant",
      },
      { ...NVFP4, release: "0.5.12", args: "--quantization modelopt_fp4" },
    ],
  },
];
