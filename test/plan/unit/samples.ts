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
    apiKey: false,
    ...changes,
  };
}
