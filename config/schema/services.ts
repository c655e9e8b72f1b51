import { z } from "zod";
import { entries, entryName, freeText, ipAddress, port, positiveInteger, text } from "./fields";
import { nodesSchema } from "./nodes";

/** Longest argument and value of a variable: the kernel takes 128 KiB as one word of a command line. */
const LONGEST_VALUE = 16_384;

/** A value that the release's own list of choices decides about: checked against the catalog, not here. */
const choice = text(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "one word, as the release's --help lists it");

const speculative = z
  .strictObject({
    algorithm: z
      .enum(["nextn", "eagle3"])
      .describe("`nextn`: the model's own extra layer drafts. `eagle3`: a draft model does (`draftModel`)."),
    steps: positiveInteger.max(64).describe("Draft steps before a verification."),
    topk: positiveInteger
      .max(64)
      .describe("Branches of each step. 1 is the only value that every release supports."),
    draftTokens: positiveInteger
      .max(256)
      .optional()
      .describe(
        "Tokens that one verification looks at. Default, and with topk 1 the only value that holds: steps + 1.",
      ),
    draftModel: entryName.optional().describe("Name of the draft model (key `models`), for `eagle3`."),
  })
  .describe(
    "Speculative decoding: faster answers, more memory. A wrong combination is refused by the rules.",
  );

const acknowledgement = z
  .strictObject({
    rule: text(/^[A-Za-z][A-Za-z0-9-]*$/, "the id of a rule, such as R28").describe(
      "Id of the rule (`./stack explain RULE`).",
    ),
    reason: freeText("a reason of at least 10 characters", 1000)
      .min(10, { error: "a reason of at least 10 characters" })
      .describe("Why it does not apply here: shown in every preview."),
  })
  .describe("A rule that its owner has looked at and overrides.");

/** One inference service. */
const service = z
  .strictObject({
    environment: entryName
      .describe(
        "Name of the environment (key `environments`) whose Python runs the server; it also decides the container.",
      )
      .meta({ examples: ["ml-env"] }),
    model: entryName.describe("Name of the model (key `models`).").meta({ examples: ["qwen36"] }),
    enabled: z
      .boolean()
      .default(true)
      .describe(
        "Whether the service runs. `false` installs its files, so that it can be switched to at once, but neither starts it nor holds it " +
          "to its health gate; a running one is stopped. Of services that conflict only one can be enabled.",
      ),
    gpus: z
      .array(entryName)
      .min(1, { error: "a list of at least one card; leave the key out for all cards of the container" })
      .optional()
      .describe("Names of the cards that the server may use. Default: all cards of the container."),
    release: text(
      /^\d+\.\d+\.\d+([a-z0-9.]*)$|^[0-9a-f]{7,40}$|^main-\d{8}$/,
      "an SGLang release such as 0.5.11, or a development build: its commit, or its name in the catalog (main-20260307)",
    )
      .optional()
      .describe(
        "SGLang release that the environment holds: it decides how flags are spelt and which rules apply. Default: the lock's `sglang==` line. " +
          "State the commit or the catalog's name for a development build.",
      )
      .meta({ examples: ["0.5.11"] }),
    servedModelName: text(
      /^[^\s:-][^\s:]*$/,
      "a name without spaces and colons, and without a hyphen in front, which would make it an option",
    )
      .describe(
        "Name of the model in the API. Clients ask for it: a change breaks those that use the old one.",
      )
      .meta({ examples: ["qwen3.6-27b"] }),
    listen: ipAddress
      .default("0.0.0.0")
      .describe("Address in the container to listen on. `127.0.0.1` hides the service from the network."),
    port: port.default(30000).describe("TCP port to listen on. A change moves the endpoint."),
    tensorParallel: positiveInteger
      .max(64)
      .optional()
      .describe(
        "Number of GPUs that share the model. Default: the number of the service's cards, times the number of `nodes`. It must divide the model's heads.",
      ),
    nodes: nodesSchema.optional(),
    contextLength: positiveInteger
      .optional()
      .describe(
        "Longest context in tokens. Default: the model's own. Longer contexts take GPU memory for each request.",
      ),
    memFractionStatic: z
      .number()
      .gt(0)
      .lt(1)
      .optional()
      .describe(
        "Share of the GPU memory for weights and the KV cache. Default: SGLang's choice. Too high ends in out-of-memory under load.",
      ),
    kvCacheDtype: choice
      .optional()
      .describe(
        "Type of the KV cache. Default: SGLang's `auto`, which follows the checkpoint and may silently be FP8 (rule R28).",
      )
      .meta({ examples: ["bf16"] }),
    attentionBackend: choice
      .optional()
      .describe("Attention kernels. Default: planned from model, GPU and release, and always written out.")
      .meta({ examples: ["triton"] }),
    moeRunnerBackend: choice.optional().describe("Kernels of the experts of a mixture-of-experts model."),
    fp4GemmBackend: choice.optional().describe("Kernels of FP4 matrix products."),
    quantization: choice
      .optional()
      .describe("Quantization of the checkpoint. Default: what the checkpoint says."),
    speculative: speculative.optional(),
    mambaScheduler: choice
      .optional()
      .describe(
        "Strategy for the recurrent state of hybrid models: `extra_buffer` is what speculative decoding needs.",
      )
      .meta({ examples: ["extra_buffer"] }),
    reasoningParser: choice
      .optional()
      .describe("Parser that splits thinking from the answer.")
      .meta({ examples: ["qwen3"] }),
    toolCallParser: choice
      .optional()
      .describe("Parser of tool calls.")
      .meta({ examples: ["qwen3_coder"] }),
    disableCustomAllReduce: z
      .boolean()
      .optional()
      .describe(
        "Whether SGLang's own all-reduce is off. It is off by itself with more than two GPUs on PCIe (rule R20).",
      ),
    metrics: z.boolean().default(true).describe("Whether the server offers Prometheus metrics at /metrics."),
    maxRunningRequests: positiveInteger
      .optional()
      .describe("Most requests at once. Default: SGLang's choice by memory."),
    env: z
      .record(
        text(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable"),
        freeText("a text", LONGEST_VALUE),
      )
      .default({})
      .describe(
        "Further environment variables of the server, such as NCCL's. Values are strings: quote numbers. No secrets here.",
      )
      .meta({ examples: [{ NCCL_P2P_LEVEL: "SYS" }] }),
    extraArgs: z
      .array(
        freeText("an argument that is not empty", LONGEST_VALUE).min(1, {
          error: "an argument that is not empty",
        }),
      )
      .refine((args) => args.join(" ").length <= 4 * LONGEST_VALUE, {
        error: `arguments of at most ${4 * LONGEST_VALUE} characters in all`,
      })
      .default([])
      .describe(
        "Further arguments of the server, one per list entry. Each is checked against the release's own list of flags.",
      ),
    user: text(/^[a-z_][a-z0-9_-]{0,31}$/, "the name of a system user")
      .optional()
      .describe(
        "System user that runs the server; it is made if it is not there. Default: `sglang`. `root` is possible where the environment lies in /root.",
      ),
    startTimeoutMinutes: positiveInteger
      .max(600)
      .default(30)
      .describe(
        "Minutes that loading may take before the health gate fails. Hundreds of GB take tens of minutes.",
      ),
    stopTimeoutSeconds: positiveInteger
      .max(3600)
      .default(120)
      .describe("Seconds that running answers get to finish when the service stops; then it is killed."),
    probeIntervalMinutes: positiveInteger
      .max(10_080)
      .default(15)
      .describe("Minutes between two repetitions of the semantic probe."),
    onDegenerate: z
      .enum(["report", "restart"])
      .default("report")
      .describe(
        "What a failed repeated probe does: only report (journal, metric, `./stack status`), or restart the service within its start limit.",
      ),
    conflictsWith: z
      .array(entryName)
      .default([])
      .describe("Names of services that use the same cards: starting one stops the other."),
    replaces: text(/^[A-Za-z0-9:_.@-]+\.service$/, "the name of a unit such as sglang.service")
      .optional()
      .describe(
        "Unit in the container, made by hand, that this service takes the place of. It is stopped right before this one first starts, started " +
          "again when this one fails its first health gate, and disabled once this one has passed it; its file stays. Default: none.",
      )
      .meta({ examples: ["sglang.service"] }),
    acknowledge: z
      .array(acknowledgement)
      .default([])
      .describe("Rules that are overridden, each with a reason."),
  })
  .describe("One SGLang server: `sglang-<name>.service` in its container.");

/** Key `services`. */
export const servicesSchema = entries(service).describe("Inference services, by name.");

export type ServiceConfig = z.output<typeof service>;
