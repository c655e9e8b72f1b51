import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspectStack, type Inspection } from "../../config/load";
import type { Problem } from "../../config/problems";

const SHA = "a".repeat(64);
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+lmlurSWhg+ZOO8wdGmrAF138dqnZuL2AVL2gyEAZV";

/** A project with one lock, `sglang-0.5.11`. */
export function project(lock = "sglang==0.5.11 \\\n    --hash=sha256:00\n"): string {
  const directory = mkdtempSync(path.join(tmpdir(), "project-"));
  mkdirSync(path.join(directory, "environments/sglang-0.5.11"), { recursive: true });
  writeFileSync(path.join(directory, "environments/sglang-0.5.11/requirements.lock"), lock);
  return directory;
}

const PROJECT = project();

/** A container of the sample; tests give it its own id and address. */
export function container(changes: object = {}): Record<string, unknown> {
  return {
    vmId: 129,
    template: { url: "http://files.example.org/debian-12-standard_12.12-1_amd64.tar.zst", sha256: SHA },
    cores: 8,
    memoryGiB: 64,
    rootDisk: { storage: "local-lvm", sizeGiB: 50 },
    network: { address: "192.0.2.129/24", gateway: "192.0.2.1" },
    gpus: ["left", "right"],
    mounts: [{ source: "/srv/models", target: "/models" }],
    ...changes,
  };
}

export function service(changes: object = {}): Record<string, unknown> {
  return { environment: "ml-env", model: "qwen", servedModelName: "qwen", ...changes };
}

/** A stack without problems, by top-level key. */
export function stack(): Record<string, Record<string, unknown>> {
  return {
    host: { node: "pve1", address: "192.0.2.5", hostKey: KEY },
    driver: {
      version: "580.105.08",
      modules: "open",
      installer: { url: "http://files.example.org/NVIDIA-Linux-x86_64-{version}.run", sha256: SHA },
    },
    gpus: {
      left: { model: "rtx-a6000", uuid: "GPU-11111111-2222-3333-4444-555555555555" },
      right: { model: "rtx-a6000", uuid: "GPU-66666666-7777-8888-9999-000000000000" },
    },
    containers: { ml: container() },
    environments: { "ml-env": { container: "ml", lock: "sglang-0.5.11" } },
    models: { qwen: { repo: "Qwen/Qwen3.6-27B", revision: "b".repeat(40), path: "/srv/models/qwen" } },
    services: { chat: service() },
  };
}

/** As Pulumi hands a stack over: structures as JSON text, secrets as they are. */
export function rawOf(
  keys: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>> = { apiPassword: "x" },
): Record<string, string> {
  const structures = Object.entries(keys).map(([key, value]) => [key, JSON.stringify(value)] as const);
  return Object.fromEntries(
    [...structures, ...Object.entries(secrets)].map(([key, value]) => [`proxmox-gpu-stack:${key}`, value]),
  );
}

/** Inspects the sample after a change. */
export function inspected(
  change: (keys: Record<string, Record<string, unknown>>) => void,
  options: { secrets?: Readonly<Record<string, string>>; projectDirectory?: string } = {},
): Inspection {
  const keys = stack();
  change(keys);
  return inspectStack(rawOf(keys, options.secrets), {
    source: "Pulumi.test.yaml",
    projectDirectory: options.projectDirectory ?? PROJECT,
  });
}

/** The problems that a change brings. */
export function problemsAfter(...parameters: Parameters<typeof inspected>): readonly Problem[] {
  return inspected(...parameters).problems;
}
