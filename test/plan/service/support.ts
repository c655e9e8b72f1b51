/** The three systems, the lab's, and what varies between them. */
import { modelByName } from "../../../catalog";
import { planService, type ServiceInput, type ServicePlan } from "../../../plan/service";

type Service = ServiceInput["service"];

export const PATH = "proxmox-gpu-stack:services.qwen";

const COMMON: Pick<
  Service,
  "listen" | "port" | "metrics" | "env" | "extraArgs" | "acknowledge" | "draftModelPath"
> = {
  listen: "0.0.0.0",
  port: 30000,
  metrics: false,
  env: {},
  extraArgs: [],
  acknowledge: [],
  draftModelPath: undefined,
};

const cards = (name: string, count: number) => Array.from({ length: count }, () => name);

/** kpro5: Qwen3.6-27B on two A6000. */
export const SYSTEM_A: ServiceInput = {
  path: PATH,
  gpus: cards("rtx-a6000", 2),
  model: modelByName("qwen3.6-27b"),
  python: "3.11",
  service: {
    ...COMMON,
    release: "0.5.11",
    modelPath: "/models/qwen3.6-27b",
    servedModelName: "qwen3.6-27b",
    contextLength: 262_144,
    memFractionStatic: 0.8,
    attentionBackend: "flashinfer",
    speculative: { algorithm: "nextn", steps: 3, topk: 1, draftTokens: 4 },
    mambaScheduler: "extra_buffer",
    reasoningParser: "qwen3",
    toolCallParser: "qwen3_coder",
  },
};

/** kpro6: Qwen3.5-397B-A17B-NVFP4 on eight RTX PRO 6000. */
export const SYSTEM_B: ServiceInput = {
  path: PATH,
  gpus: cards("rtx-pro-6000-blackwell", 8),
  model: modelByName("qwen3.5-397b-a17b-nvfp4"),
  service: {
    ...COMMON,
    release: "f88acf8780",
    modelPath: "/models/qwen3.5",
    servedModelName: "qwen3.5-397b",
    quantization: "modelopt_fp4",
    attentionBackend: "triton",
    moeRunnerBackend: "flashinfer_cutlass",
    fp4GemmBackend: "flashinfer_cudnn",
    kvCacheDtype: "bf16",
    disableCustomAllReduce: true,
    reasoningParser: "qwen3",
    toolCallParser: "qwen3_coder",
  },
};

/** kpro6: Kimi-K2.5 INT4 with EAGLE-3 on the same cards. */
export const SYSTEM_C: ServiceInput = {
  path: PATH,
  gpus: cards("rtx-pro-6000-blackwell", 8),
  model: modelByName("kimi-k2.5"),
  draftModel: modelByName("kimi-k2.5-eagle3-mla"),
  service: {
    ...COMMON,
    release: "0.5.12.post1",
    modelPath: "/models/kimi-k2.5",
    draftModelPath: "/models/kimi-k2.5-eagle3-mla",
    servedModelName: "kimi-k2.5",
    memFractionStatic: 0.94,
    attentionBackend: "flashinfer",
    kvCacheDtype: "bf16",
    speculative: { algorithm: "eagle3", steps: 3, topk: 1, draftTokens: 4, draftModel: "kimi-draft" },
    reasoningParser: "kimi_k2",
    toolCallParser: "kimi_k2",
  },
};

/** The lab's service. */
export const LAB: ServiceInput = {
  path: PATH,
  gpus: cards("rtx-a6000", 2),
  model: modelByName("lab-qwen3.6-tiny"),
  service: {
    ...COMMON,
    metrics: true,
    release: "0.5.11",
    modelPath: "/models/qwen3.6-tiny",
    servedModelName: "qwen3.6-tiny",
    attentionBackend: "triton",
    speculative: { algorithm: "nextn", steps: 3, topk: 1 },
    mambaScheduler: "extra_buffer",
  },
};

/** The plan of a system with some of the service's settings changed. */
export function planned(
  system: ServiceInput,
  service: Partial<Service> = {},
  input: Partial<ServiceInput> = {},
): ServicePlan {
  return planService({ ...system, ...input, service: { ...system.service, ...service } });
}

/** The system without what its owner may leave to the plan. */
export function leftToPlan(system: ServiceInput): ServiceInput {
  const { release, modelPath, draftModelPath, servedModelName, speculative } = system.service;
  const service: Service = { ...COMMON, release, modelPath, draftModelPath, servedModelName };
  return { ...system, service: speculative === undefined ? service : { ...service, speculative } };
}

/** The findings as "severity id setting". */
export function verdictOf(plan: ServicePlan): string[] {
  return plan.findings.map(({ severity, id, path }) => `${severity} ${id} ${path.replace(`${PATH}.`, "")}`);
}
