import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describeCheckpoint, modelByName } from "../../catalog";
import { inspectStackFile } from "../../config/load";
import { modelListFile, readModelList } from "../../config/model-list";
import type { StackConfig } from "../../config/schema";
import { expectedConfig } from "../../plan/model-facts";
import { planModels } from "../../plan/model-steps";

const PROJECT = join(__dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "model-steps-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function stack(name: string): StackConfig {
  const { config, problems } = inspectStackFile(join(PROJECT, `Pulumi.${name}.yaml`));
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return config;
}

function specification(name: string, projectDirectory = PROJECT) {
  const [plan] = planModels(stack(name), projectDirectory);
  return JSON.parse(plan?.step.texts["snapshot.json"] ?? "null") as {
    files: { path: string }[] | null;
    facts: { source: string; config: Record<string, unknown> } | null;
  };
}

describe("the recorded list of a model's files", () => {
  test("travels with the step, and without it a warning has the command that records it", () => {
    expect(planModels(stack("lab"), PROJECT)[0]?.findings).toEqual([]);
    expect(specification("lab").files).toContainEqual(
      expect.objectContaining({ path: "model-00001-of-00002.safetensors" }),
    );
    const [kpro5] = planModels(stack("kpro5"), PROJECT);
    expect(kpro5?.findings).toEqual([
      expect.objectContaining({
        id: "model-list-missing",
        severity: "warning",
        path: "proxmox-gpu-stack:models.qwen36.revision",
        fix: "./stack describe-model Qwen/Qwen3.6-27B --revision 6a9e13bd6fc8f0983b9b99948120bc37f49c13e9, then commit models/",
      }),
    ]);
    expect(specification("kpro5").files).toBeNull();
  });

  test("names the mirror in the command, and says nothing of a revision that nobody knows", () => {
    expect(planModels(stack("lab"), folder)[0]?.findings[0]?.fix).toContain(
      " --endpoint http://10.77.0.1:8090, then",
    );
    const unknown = planModels(stack("kpro6"), PROJECT).filter(({ name }) => name !== "kimi");
    expect(unknown.flatMap(({ findings }) => findings)).toEqual([]);
  });

  test.each([
    ["{", "is not JSON"],
    ['{"repo":"lab/qwen3.6-tiny","revision":"REVISION","files":[{"path":"a","bytes":1}]}', "files[0]"],
    [
      '{"repo":"lab/other","revision":"REVISION","files":[{"path":"a","bytes":1,"gitBlob":"BLOB"}]}',
      "is the list of lab/other",
    ],
  ])("that is broken (%s) is an error", (text, message) => {
    const { repo, revision } = Object.values(stack("lab").models)[0] as { repo: string; revision: string };
    const projectDirectory = mkdtempSync(join(folder, "project-"));
    const file = join(projectDirectory, modelListFile(repo, revision));
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text.replace("REVISION", revision).replace("BLOB", "0".repeat(40)));
    expect(planModels(stack("lab"), projectDirectory)[0]?.findings).toEqual([
      expect.objectContaining({
        id: "model-list-broken",
        severity: "error",
        message: expect.stringContaining(message) as string,
      }),
    ]);
  });

  test("of the lab's model is what its hub serves", () => {
    const { repo, revision } = Object.values(stack("lab").models)[0] as { repo: string; revision: string };
    const program = [
      "import json, sys",
      `sys.path.insert(0, ${JSON.stringify(join(PROJECT, "lab", "hub"))})`,
      "import repository",
      `_, commit = repository.build()["${repo}"].find("${revision}")`,
      "kind = lambda f: {'sha256': f.sha256} if f.is_lfs else {'gitBlob': f.blob_id}",
      "print(json.dumps([{'path': f.path, 'bytes': f.size, **kind(f)} for f in commit.files.values()]))",
    ].join("\n");
    const served: unknown = JSON.parse(execFileSync("python3", ["-B", "-c", program], { encoding: "utf8" }));
    expect(readModelList(PROJECT, repo, revision)?.files).toEqual(served);
  });
});

/** What a step on a host says of a config.json, against the facts that a plan was made with. */
function problemsOnHost(config: object, expected: object, extra: Record<string, object> = {}): unknown {
  const place = mkdtempSync(join(folder, "snapshot-"));
  for (const [name, content] of Object.entries({ "config.json": config, ...extra })) {
    writeFileSync(join(place, name), JSON.stringify(content));
  }
  const program = [
    "import json, sys",
    `sys.path.insert(0, ${JSON.stringify(join(PROJECT, "scripts", "tools"))})`,
    "from model_snapshot.facts import config_problems",
    "print(json.dumps(config_problems(sys.argv[1], json.loads(sys.argv[2]))))",
  ].join("\n");
  const facts = JSON.stringify({ source: "the catalog", config: expected });
  return JSON.parse(execFileSync("python3", ["-B", "-c", program, place, facts], { encoding: "utf8" }));
}

const TEXT = {
  num_hidden_layers: 64,
  full_attention_interval: 4,
  hidden_size: 5120,
  num_attention_heads: 24,
  num_key_value_heads: 4,
  head_dim: 256,
  linear_num_key_heads: 16,
  linear_num_value_heads: 48,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
  max_position_embeddings: 262_144,
};
const QWEN = { architectures: ["Qwen3_5ForConditionalGeneration"], text_config: TEXT };
const MODELOPT = { quantization: { quant_algo: "NVFP4", kv_cache_quant_algo: "FP8" } };
const KIMI = {
  architectures: ["KimiK25ForConditionalGeneration"],
  text_config: {
    num_hidden_layers: 61,
    num_attention_heads: 64,
    num_key_value_heads: 64,
    kv_lora_rank: 512,
    qk_rope_head_dim: 64,
    max_position_embeddings: 262_144,
    quantization_config: { quant_method: "compressed-tensors" },
  },
};
const LLAMA = {
  architectures: ["LlamaForCausalLM"],
  num_hidden_layers: 32,
  hidden_size: 4096,
  num_attention_heads: 32,
  max_position_embeddings: 8192,
};

describe("what config.json must say", () => {
  test("is what the catalog knows of the model", () => {
    expect(specification("kpro5").facts).toMatchObject({
      source: "the catalog's qwen3.6-27b",
      config: { num_hidden_layers: 64, num_key_value_heads: 4, head_dim: 256, quantization: null },
    });
  });

  test.each([
    ["a hybrid model by the interval of its layers", QWEN, {}],
    [
      "a list of layers",
      { ...QWEN, text_config: { ...TEXT, num_hidden_layers: 2, layer_types: ["linear_attention", "full"] } },
      {},
    ],
    ["NVIDIA's quantization in a file of its own", QWEN, { "hf_quant_config.json": MODELOPT }],
    [
      "NVIDIA's quantization inline",
      { ...QWEN, quantization_config: { quant_method: "modelopt", quant_algo: "FP8" } },
      {},
    ],
    ["latent attention, quantized", KIMI, {}],
    ["a model without head_dim and key/value heads", LLAMA, {}],
  ])("of %s is found by the step as the catalog's reader finds it", (_, config, extra) => {
    const quantization = (extra as Record<string, object>)["hf_quant_config.json"];
    const facts = describeCheckpoint(config, quantization === undefined ? {} : { quantization });
    expect(problemsOnHost(config, expectedConfig(facts), extra)).toEqual([]);
  });

  test("is compared in every field that the catalog knows", () => {
    const expected = expectedConfig(
      modelByName("qwen3.6-27b") as NonNullable<ReturnType<typeof modelByName>>,
    );
    const other = { architectures: ["Other"], text_config: { num_hidden_layers: 1 } };
    const found = problemsOnHost(other, expected) as string[];
    expect(found.map((line) => /^config.json: (.*) is /.exec(line)?.[1])).toEqual(
      Object.keys(expected)
        .filter((key) => key !== "quantization")
        .sort(),
    );
    expect(problemsOnHost(QWEN, expected, { "hf_quant_config.json": MODELOPT })).toEqual([
      'config.json: quantization is "modelopt_fp4", the catalog says null',
    ]);
  });
});
