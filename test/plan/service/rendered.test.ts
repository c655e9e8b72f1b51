import { resolve } from "node:path";

import { parseBuild, releaseOf } from "../../../catalog";
import { assess } from "../../../cli/findings";
import { servicePaths } from "../../../plan/unit/paths";
import { parseWithRelease, whyUnavailable } from "../../catalog/wheels";

// The first run downloads the wheels.
jest.setTimeout(300_000);

/** Words of the server's command line, read back from the unit as it is rendered. */
function renderedCommand(stack: string, service: string): { release: string; words: string[] } {
  const { plan } = assess(resolve(__dirname, "..", "..", "..", `Pulumi.${stack}.yaml`));
  const wanted = plan?.services.find(({ name }) => name === service);
  const unit = wanted?.step.texts[servicePaths(service).unit];
  const command = /^ExecStart=\S+ -m sglang\.launch_server((?: \\\n[^\\\n]*)+)$/m.exec(unit ?? "")?.[1];
  const build = parseBuild(wanted?.service.release ?? "");
  // A development build has the flags of the release before it.
  const release = build === undefined ? undefined : releaseOf(build)?.version;
  if (command === undefined || release === undefined) throw new Error(`${stack}: no command of ${service}`);
  return { release, words: command.replaceAll("\\\n", " ").trim().split(/\s+/) };
}

/** Flags with their values; `true` for one without. */
function flagsOf(words: readonly string[]): Record<string, string | true> {
  return Object.fromEntries(
    words.flatMap((word, index) => {
      if (!word.startsWith("--")) return [];
      const next = words[index + 1];
      return [[word, next === undefined || next.startsWith("--") ? true : next]];
    }),
  );
}

interface Row {
  readonly stack: string;
  readonly service: string;
  /** The deployment's own flags, as its table has them. */
  readonly table: Readonly<Record<string, string | true>>;
  /** What the stack says beyond the table, and why. */
  readonly added: Readonly<Record<string, string>>;
}

/** What every server is told that the tables leave open. */
const EVERYWHERE = {
  "--model-path": "where the model lies in the container",
  "--served-model-name": "the name for clients",
  "--host": "address to listen on",
  "--port": "port to listen on",
  "--enable-metrics": "metrics are on by default in a stack",
};

const SPECULATION_3_1_4 = {
  "--speculative-num-steps": "3",
  "--speculative-eagle-topk": "1",
  "--speculative-num-draft-tokens": "4",
};

const ROWS: readonly Row[] = [
  {
    stack: "kpro5",
    service: "qwen",
    table: {
      "--tp-size": "2",
      "--context-length": "262144",
      "--mem-fraction-static": "0.8",
      "--reasoning-parser": "qwen3",
      "--tool-call-parser": "qwen3_coder",
      "--speculative-algorithm": "NEXTN",
      ...SPECULATION_3_1_4,
      "--mamba-scheduler-strategy": "extra_buffer",
    },
    added: {
      ...EVERYWHERE,
      "--attention-backend": "R5: what it resolves to on this card, stated so that it can be compared",
      "--max-running-requests": "memory: the server's 48 leave no room for the context",
      "--mamba-full-memory-ratio": "memory: the share of states that goes with it",
    },
  },
  {
    stack: "kpro6",
    service: "qwen",
    table: {
      "--tp-size": "8",
      "--quantization": "modelopt_fp4",
      "--attention-backend": "triton",
      "--moe-runner-backend": "flashinfer_cutlass",
      "--fp4-gemm-backend": "flashinfer_cudnn",
      "--kv-cache-dtype": "bf16",
      "--disable-custom-all-reduce": true,
      "--reasoning-parser": "qwen3",
      "--tool-call-parser": "qwen3_coder",
    },
    added: EVERYWHERE,
  },
  {
    stack: "kpro6",
    service: "kimi",
    table: {
      "--tp-size": "8",
      "--attention-backend": "flashinfer",
      "--speculative-algorithm": "EAGLE3",
      "--speculative-draft-model-path": "/models/kimi-k2.5-eagle3-mla",
      ...SPECULATION_3_1_4,
      "--reasoning-parser": "kimi_k2",
      "--tool-call-parser": "kimi_k2",
      "--mem-fraction-static": "0.94",
      "--kv-cache-dtype": "bf16",
    },
    added: { ...EVERYWHERE, "--context-length": "memory: what fits of the model's own" },
  },
  {
    stack: "lab",
    service: "qwen",
    table: {
      "--tp-size": "2",
      "--attention-backend": "triton",
      "--reasoning-parser": "qwen3",
      "--tool-call-parser": "qwen3_coder",
      "--speculative-algorithm": "NEXTN",
      ...SPECULATION_3_1_4,
      "--mamba-scheduler-strategy": "extra_buffer",
    },
    added: EVERYWHERE,
  },
];

describe.each(ROWS)("the unit of $service on $stack", ({ stack, service, table, added }) => {
  const { release, words } = renderedCommand(stack, service);
  const flags = flagsOf(words);

  test("holds the deployment's flags, and only such others as have a reason", () => {
    expect(flags).toMatchObject(table);
    const unexplained = Object.keys(flags).filter((name) => !(name in table) && !(name in added));
    expect(unexplained).toEqual([]);
  });

  const reason = whyUnavailable(release);
  const check = reason === undefined ? test : test.skip;
  check(
    `is parsed by ${release}'s own parser, to the same values${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    () => {
      const [parsed, wrong] = parseWithRelease(release, [words, [...words, "--no-such-flag"]]);
      expect(parsed?.error).toBeUndefined();
      for (const name of ["--port", "--attention-backend", "--tool-call-parser"])
        expect(String(parsed?.values?.[name.slice(2).replaceAll("-", "_")])).toBe(flags[name]);
      expect(wrong?.ok).toBe(false);
    },
  );
});
