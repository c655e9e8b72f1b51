import { readFileSync } from "node:fs";
import path from "node:path";
import { parse, stringify } from "yaml";
import { PROJECT_DIRECTORY } from "../../../config/load";
import { rehome, stackOf, type Rehoming } from "../../../plan/rehome";
import type { Stack } from "../../../plan/rehome/values";

/** The text of one of the project's stack files. */
export function stackText(name: string): string {
  return readFileSync(path.join(PROJECT_DIRECTORY, `Pulumi.${name}.yaml`), "utf8");
}

/** A stack from a text; a text with errors is a mistake of the test. */
export function stack(name: string, text: string): Stack {
  const result = stackOf(name, text, PROJECT_DIRECTORY);
  if ("stack" in result) return result.stack;
  throw new Error(JSON.stringify(result.reasons, null, 2));
}

export type Config = Record<string, Record<string, Record<string, unknown>>>;

/** A stack from another one's values, changed; its comments are lost. */
export function changed(name: string, base: string, change: (config: Config) => void): Stack {
  const content = parse(stackText(base)) as { config: Config };
  const short = Object.fromEntries(
    Object.entries(content.config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  );
  change(short);
  content.config = Object.fromEntries(
    Object.entries(short).map(([key, value]) => [`proxmox-gpu-stack:${key}`, value]),
  );
  return stack(name, stringify(content));
}

/** kpro5's host with nothing on it but the container, under other names and addresses. */
export function emptyHost(name: string, cards: number): Stack {
  return changed(name, "kpro5", (config) => {
    const names = Array.from({ length: cards }, (_, index) => `card-${index}`);
    config["host"] = { ...config["host"], node: name, address: "10.9.9.9" } as unknown as Config[string];
    config["gpus"] = Object.fromEntries(names.map((card) => [card, { model: "rtx-a6000", uuid: "unknown" }]));
    const container = config["containers"]?.["ml"] ?? {};
    config["containers"] = { gpu: { ...container, vmId: 300, gpus: names } };
    for (const key of ["environments", "models", "services"]) config[key] = {};
  });
}

/** What a service of the development build needs to be accepted with a model that it does not serve well. */
const NIGHTLY = {
  release: "main-20260307",
  acknowledge: ["M1", "R30"].map((rule) => ({ rule, reason: "only to try the environment" })),
};

/** Qwen3.6-27B on all of kpro6's eight cards, tuned for them, with real addresses and identities. */
export function eightCards(lock = "qwen36-sglang-0.5.11"): Stack {
  return changed("kpro6", "kpro6", (config) => {
    Object.assign(config["host"] ?? {}, { address: "10.6.6.6" });
    Object.values(config["gpus"] ?? {}).forEach((card, index) => {
      card["uuid"] = `GPU-66666666-0000-0000-0000-00000000000${index}`;
    });
    const container = config["containers"]?.["ml"] as { network: Record<string, string> };
    container.network = { address: "10.6.6.129/24", gateway: "10.6.6.1" };
    Object.assign(config["environments"]?.["qwen-env"] ?? {}, { lock });
    config["models"] = {
      qwen: {
        repo: "Qwen/Qwen3.6-27B",
        revision: "6a9e13bd6fc8f0983b9b99948120bc37f49c13e9",
        path: "/srv/models/qwen",
        endpoint: "http://10.6.6.2:8090",
      },
    };
    const { qwen } = config["services"] ?? {};
    config["services"] = {
      qwen: {
        environment: "qwen-env",
        model: "qwen",
        servedModelName: "qwen",
        tensorParallel: 8,
        memFractionStatic: 0.5,
        attentionBackend: "triton",
        disableCustomAllReduce: true,
        reasoningParser: "qwen3",
        startTimeoutMinutes: 45,
        env: { ...(qwen?.["env"] as object), HF_HUB_OFFLINE: "1" },
        ...(lock === "qwen36-sglang-0.5.11" ? {} : NIGHTLY),
      },
    };
  });
}

export const move = (from: Stack, to: Stack, ...services: string[]): Rehoming =>
  rehome(from, to, services.length > 0 ? services : Object.keys(from.config.services), PROJECT_DIRECTORY);
