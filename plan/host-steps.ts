import type { GpuConfig, StackConfig } from "../config/schema";
import { installerOptions } from "./driver";
import { scriptText, stepDigest } from "./script";
import { HOST, step, type Step } from "./step";

/** The steps that bring the host's kernel and driver to what the stack declares, in order. */
export interface DriverPlan {
  readonly kernel: Step;
  readonly kernelReady: Step;
  readonly install: Step;
  readonly ready: Step;
  readonly boot: Step;
}

/** The UUID of a card, or its PCI address where that is what the owner gave. */
export function cardId(gpu: GpuConfig): string {
  return gpu.uuid ?? gpu.pci ?? "";
}

/** Waits for the host after a step that may have rebooted it; `after` ties it to that step's version. */
function afterReboot(config: StackConfig, before: Step, parts: { name: string; driver?: string }): Step {
  return step({
    name: parts.name,
    target: HOST,
    script: "host/boot-wait",
    args: {
      after: stepDigest(before),
      ...(parts.driver === undefined ? {} : { driver: parts.driver }),
    },
    timeoutMinutes: config.host.rebootTimeoutMinutes,
    dialsUntilTimeout: true,
    summary: "wait until the host is up again, if a reboot was needed, and see that it came up as it should",
  });
}

export function planDriver(config: StackConfig): DriverPlan {
  const { driver, host } = config;
  const kernel = step({
    name: "driver-kernel",
    target: HOST,
    script: "host/kernel",
    args: { reboot: host.reboot },
    timeoutMinutes: 30,
    summary: "kernel headers, compiler and DKMS; nouveau blacklisted in modprobe.d and every initramfs",
  });
  const kernelReady = afterReboot(config, kernel, { name: "driver-kernel-ready" });
  const install = step({
    name: "driver-install",
    target: HOST,
    script: "host/driver-install",
    args: {
      version: driver.version,
      modules: driver.modules,
      url: driver.installer.url,
      sha256: driver.installer.sha256,
      options: installerOptions(driver.version, driver.modules).join(","),
      reboot: host.reboot,
      replace: String(driver.replaceExisting),
    },
    texts: { "driver-build": scriptText("tools/driver-build") },
    timeoutMinutes: 75,
    removable: true,
    summary: `NVIDIA driver ${driver.version} with ${driver.modules} kernel modules, by its checksummed installer and DKMS`,
  });
  const ready = afterReboot(config, install, { name: "driver-ready", driver: driver.version });
  const withGpus = Object.values(config.containers).filter((container) => container.gpus.length > 0);
  const boot = step({
    name: "driver-gpu-boot",
    target: HOST,
    script: "host/gpu-boot",
    args: {
      cards: Object.entries(config.gpus)
        .map(([name, gpu]) => `${name}:${cardId(gpu)}`)
        .join(","),
      containers: withGpus.map((container) => container.vmId).join(","),
      driver: driver.version,
    },
    texts: {
      "gpu-nodes": scriptText("tools/gpu-nodes"),
      "gpu-nodes.service": scriptText("tools/gpu-nodes.service"),
    },
    timeoutMinutes: 10,
    removable: true,
    summary:
      "boot unit that makes the device nodes and re-resolves each container's cards; every declared card is there",
  });
  return { kernel, kernelReady, install, ready, boot };
}
