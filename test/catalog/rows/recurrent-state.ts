import type { RuleRow } from "./rule-row";
import { NEXTN, EXTRA, NEW_EXTRA, LAZY, QWEN, KIMI } from "./shared";

export const RECURRENT_STATE_ROWS: readonly RuleRow[] = [
  {
    rule: "R7",
    fires: [
      { release: "0.5.9", args: NEXTN },
      { release: "0.5.10", args: NEXTN },
      { release: "0.5.13.post1", args: `${NEXTN} --mamba-scheduler-strategy no_buffer` },
    ],
    silent: [
      { release: "0.5.11", args: `${NEXTN} ${EXTRA}` },
      { release: "0.5.11", args: `${NEXTN} --disable-radix-cache` },
      { release: "0.5.14", args: NEXTN },
      { ...KIMI, release: "0.5.12", args: "--speculative-algorithm EAGLE3" },
    ],
  },
  {
    rule: "R8",
    fires: [{ release: "0.5.11", args: `${EXTRA} --disable-radix-cache` }],
    silent: [
      { release: "0.5.14", args: `${NEW_EXTRA} --disable-radix-cache` },
      { release: "0.5.11", args: EXTRA },
    ],
  },
  {
    rule: "R8b",
    fires: [
      { release: "0.5.13.post1", args: "--page-size 64" },
      { release: "0.5.11", args: "--page-size 64" },
    ],
    silent: [
      { release: "0.5.10", args: "--page-size 64" },
      { release: "0.5.11", args: `--page-size 64 ${EXTRA}` },
      { release: "0.5.14", args: "--page-size 64" },
    ],
  },
  {
    rule: "R8c",
    fires: [{ release: "0.5.13.post1" }, { release: "0.5.11" }],
    silent: [
      { release: "0.5.14" },
      { release: "0.5.11", args: EXTRA },
      { release: "0.5.11", args: "--disable-radix-cache" },
    ],
  },
  {
    rule: "R9",
    fires: [
      {
        release: "0.5.11",
        args: `${NEXTN} --speculative-num-draft-tokens 4 ${EXTRA} --mamba-track-interval 2`,
      },
      { release: "0.5.23", args: `${NEW_EXTRA} --page-size 24` },
    ],
    silent: [
      { release: "0.5.11", args: `${EXTRA} --page-size 64` },
      { release: "0.5.11", args: "--page-size 24" },
    ],
  },
  {
    rule: "R10",
    fires: [
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --page-size 16" },
      {
        ...QWEN,
        release: "0.5.19",
        args: "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule --attention-backend trtllm_mha",
      },
    ],
    silent: [
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule" },
      { release: "0.5.14", args: "--mamba-radix-cache-strategy no_buffer --disable-radix-cache" },
      { release: "0.5.13", args: "--mamba-scheduler-strategy no_buffer" },
      { release: "0.5.14" },
    ],
  },
  {
    rule: "R31",
    fires: [{ release: "0.5.10", args: "--linear-attn-decode-backend flashinfer" }],
    silent: [
      { release: "0.5.11", args: "--linear-attn-decode-backend flashinfer" },
      { release: "0.5.10", args: `--linear-attn-decode-backend flashinfer ${EXTRA}` },
    ],
  },
  {
    rule: "R38",
    fires: [
      { release: "0.5.16", args: `--speculative-algorithm DFLASH ${LAZY}` },
      { release: "0.5.13", args: `${NEXTN} --mamba-scheduler-strategy extra_buffer_lazy` },
      { release: "0.5.16", args: `${NEXTN} ${LAZY}` },
      { release: "0.5.17", args: `--speculative-algorithm DFLASH ${LAZY}` },
    ],
    silent: [
      { release: "0.5.12", args: `${NEXTN} --mamba-scheduler-strategy extra_buffer_lazy` },
      { release: "0.5.18", args: `--speculative-algorithm DFLASH ${LAZY}` },
      { release: "0.5.17", args: `${NEXTN} ${LAZY}` },
      { release: "0.5.16", args: LAZY },
    ],
  },
  {
    rule: "R49",
    fires: [{ release: "0.5.14", args: `${NEW_EXTRA} --linear-attn-backend flashinfer` }],
    silent: [
      { release: "0.5.14", args: `${NEW_EXTRA} --linear-attn-decode-backend flashinfer` },
      { release: "0.5.13", args: `${EXTRA} --linear-attn-backend flashinfer` },
      { release: "0.5.14", args: "--linear-attn-backend flashinfer" },
    ],
  },
];
