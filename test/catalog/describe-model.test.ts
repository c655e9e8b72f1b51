import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeModel } from "../../cli/describe-model";
import { readModelList } from "../../config/model-list";

const CONFIG = {
  architectures: ["LlamaForCausalLM"],
  num_hidden_layers: 2,
  hidden_size: 64,
  num_attention_heads: 4,
  max_position_embeddings: 4096,
};
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const BLOB = "b".repeat(40);
const SHA256 = "a".repeat(64);
const LISTING = {
  sha: COMMIT,
  siblings: [
    { rfilename: "model.safetensors", size: 1000, blobId: BLOB, lfs: { size: 1000, sha256: SHA256 } },
    { rfilename: "config.json", size: 20, blobId: BLOB },
  ],
};

const FILES: Readonly<Record<string, unknown>> = {
  "/api/models/owner/small/revision/main?blobs=true": LISTING,
  [`/owner/small/resolve/${COMMIT}/config.json`]: CONFIG,
  [`/owner/small/resolve/${COMMIT}/model.safetensors.index.json`]: { metadata: { total_size: 1000 } },
  "/api/models/owner/fp4/revision/abc?blobs=true": LISTING,
  [`/owner/fp4/resolve/${COMMIT}/config.json`]: CONFIG,
  [`/owner/fp4/resolve/${COMMIT}/hf_quant_config.json`]: {
    quantization: { quant_algo: "NVFP4", kv_cache_quant_algo: "FP8" },
  },
  "/api/models/owner/picture/revision/main?blobs=true": LISTING,
  [`/owner/picture/resolve/${COMMIT}/config.json`]: { model_type: "vae" },
  "/api/models/Qwen/Qwen3.6-27B/revision/main?blobs=true": LISTING,
  [`/Qwen/Qwen3.6-27B/resolve/${COMMIT}/config.json`]: { ...CONFIG, head_dim: 128 },
};

let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const address = request.url ?? "";
    const isGated = address.includes("/owner/gated/");
    const gated = isGated && request.headers.authorization !== "Bearer good";
    const gatedFile = address.startsWith("/api/") ? LISTING : CONFIG;
    const file = isGated ? gatedFile : FILES[address];
    response.statusCode = gated ? 401 : file === undefined ? 404 : 200;
    response.end(JSON.stringify(file ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

const folder = mkdtempSync(join(tmpdir(), "describe-"));
const project = () => mkdtempSync(join(folder, "project-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe("describing a model from the hub", () => {
  test("writes its config.json and its size beside the stacks", async () => {
    const projectDirectory = project();
    const { file, facts, catalog } = await describeModel("owner/small", { endpoint, projectDirectory });
    expect(file).toBe(join(projectDirectory, "models", "owner--small.json"));
    expect(JSON.parse(readFileSync(file as string, "utf8"))).toEqual({
      repo: "owner/small",
      revision: COMMIT,
      weightsBytes: 1000,
      config: CONFIG,
    });
    expect(facts).toMatchObject({ architecture: "LlamaForCausalLM", weightsBytes: 1000 });
    expect(catalog).toBeUndefined();
  });

  test("records the files of the commit behind the branch, with the hub's hashes", async () => {
    const projectDirectory = project();
    const { list, revision } = await describeModel("owner/small", { endpoint, projectDirectory });
    expect(revision).toBe(COMMIT);
    expect(list).toBe(join(projectDirectory, "models", "owner--small", `${COMMIT}.json`));
    expect(readModelList(projectDirectory, "owner/small", COMMIT)?.files).toEqual([
      { path: "config.json", bytes: 20, gitBlob: BLOB },
      { path: "model.safetensors", bytes: 1000, sha256: SHA256 },
    ]);
  });

  test("writes only the list of a model of the catalog, and says where the two differ", async () => {
    const projectDirectory = project();
    const found = await describeModel("Qwen/Qwen3.6-27B", { endpoint, projectDirectory });
    expect(found).toMatchObject({ file: undefined, catalog: "qwen3.6-27b" });
    expect(existsSync(join(projectDirectory, "models", "Qwen--Qwen3.6-27B.json"))).toBe(false);
    expect(found.differences).toContain("num_hidden_layers is 2, the catalog's qwen3.6-27b says 64");
    expect(found.differences).toContain("head_dim is 128, the catalog's qwen3.6-27b says 256");
  });

  test("takes the quantization from its own file, at the stated revision", async () => {
    const { facts } = await describeModel("owner/fp4", {
      endpoint,
      revision: "abc",
      projectDirectory: project(),
    });
    expect(facts).toMatchObject({ quantization: "modelopt_fp4", fp8KeyValueCache: true });
  });

  test("uses a token for gated models, and says when it needs one", async () => {
    const projectDirectory = project();
    await expect(describeModel("owner/gated", { endpoint, token: "bad", projectDirectory })).rejects.toThrow(
      `${endpoint}/api/models/owner/gated/revision/main?blobs=true: the model is gated or does not exist (401); set HF_TOKEN to a token that may read it`,
    );
    await describeModel("owner/gated", { endpoint, token: "good", projectDirectory });
    expect(existsSync(join(projectDirectory, "models", "owner--gated.json"))).toBe(true);
  });

  test.each([
    ["owner/missing", "there is no such revision; check repository and revision"],
    ["owner/picture", "config.json has no architectures, num_hidden_layers, max_position_embeddings"],
    ["small", '"small" is not a repository of the model hub; write owner/name'],
  ])("refuses %s and writes nothing", async (repo, message) => {
    const projectDirectory = project();
    await expect(describeModel(repo, { endpoint, projectDirectory })).rejects.toThrow(message);
    expect(existsSync(join(projectDirectory, "models"))).toBe(false);
  });

  test("says which address cannot be reached", async () => {
    const options = { endpoint: "http://127.0.0.1:9", projectDirectory: project() };
    await expect(describeModel("owner/small", options)).rejects.toThrow(
      "http://127.0.0.1:9/api/models/owner/small/revision/main?blobs=true cannot be reached: ",
    );
  });
});
