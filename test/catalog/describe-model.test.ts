import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeModel } from "../../cli/describe-model";

const CONFIG = {
  architectures: ["LlamaForCausalLM"],
  num_hidden_layers: 2,
  hidden_size: 64,
  num_attention_heads: 4,
  max_position_embeddings: 4096,
};

const FILES: Readonly<Record<string, unknown>> = {
  "/owner/small/resolve/main/config.json": CONFIG,
  "/owner/small/resolve/main/model.safetensors.index.json": { metadata: { total_size: 1000 } },
  "/owner/fp4/resolve/abc/config.json": CONFIG,
  "/owner/fp4/resolve/abc/hf_quant_config.json": {
    quantization: { quant_algo: "NVFP4", kv_cache_quant_algo: "FP8" },
  },
  "/owner/picture/resolve/main/config.json": { model_type: "vae" },
};

let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const address = request.url ?? "";
    const gated = address.startsWith("/owner/gated/") && request.headers.authorization !== "Bearer good";
    const file = address.startsWith("/owner/gated/") ? CONFIG : FILES[address];
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
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      repo: "owner/small",
      revision: "main",
      weightsBytes: 1000,
      config: CONFIG,
    });
    expect(facts).toMatchObject({ architecture: "LlamaForCausalLM", weightsBytes: 1000 });
    expect(catalog).toBeUndefined();
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
      `${endpoint}/owner/gated/resolve/main/config.json: the model is gated or does not exist (401); set HF_TOKEN to a token that may read it`,
    );
    await describeModel("owner/gated", { endpoint, token: "good", projectDirectory });
    expect(existsSync(join(projectDirectory, "models", "owner--gated.json"))).toBe(true);
  });

  test.each([
    ["owner/missing", "config.json: there is no such file; check repository and revision"],
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
      "http://127.0.0.1:9/owner/small/resolve/main/config.json cannot be reached: ",
    );
  });
});
