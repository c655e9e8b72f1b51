import type { RouterUnitInput } from "../../../plan/unit/router-files";
import type { UnitInput } from "../../../plan/unit/types";

/** A service as system A has it; tests change what they are about. */
export function sample(changes: Partial<UnitInput> = {}): UnitInput {
  return {
    name: "qwen",
    node: "kpro5",
    title: "SGLang 0.5.11: qwen3.6-27b",
    user: "sglang",
    environmentPath: "/opt/ml-env",
    modelPaths: ["/models/qwen3.6-27b"],
    arguments: [
      "--model-path",
      "/models/qwen3.6-27b",
      "--port",
      "30000",
      "--tp-size",
      "2",
      "--enable-metrics",
    ],
    environment: { OMP_NUM_THREADS: "8" },
    visibleGpus: undefined,
    conflicts: [],
    startTimeoutMinutes: 30,
    stopTimeoutSeconds: 120,
    probeIntervalMinutes: 15,
    onDegenerate: "report",
    isNode: false,
    apiKey: false,
    ...changes,
  };
}

/** A router; tests change what they are about. */
export function routerSample(changes: Partial<RouterUnitInput> = {}): RouterUnitInput {
  return {
    name: "front",
    node: "kpro5",
    title: "SGLang router: qwen3.6-27b",
    user: "sglang",
    environmentPath: "/opt/ml-env",
    arguments: ["--worker-urls", "http://10.1.2.129:30000", "--port", "8000"],
    after: [],
    stopTimeoutSeconds: 120,
    probeIntervalMinutes: 15,
    apiKey: false,
    ...changes,
  };
}
