import type { Gpu } from "./types";

const BLACKWELL =
  "open-gpu-kernel-modules, supported table per tag; open-gpu-kernel-modules#1143, start-os#3465";

/** GPUs by name. A card is added with its evidence; see README.md. */
export const GPUS: readonly Gpu[] = [
  {
    name: "rtx-a6000",
    title: "NVIDIA RTX A6000",
    computeCapability: [8, 6],
    memoryGiB: 48,
    nvlink: false,
    pciId: "10de:2230",
    modules: ["open", "proprietary"],
    evidence:
      "open-gpu-kernel-modules, supported table; one report of open modules failing: open-gpu-kernel-modules#859",
  },
  {
    name: "rtx-pro-6000-blackwell",
    title: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    computeCapability: [12, 0],
    memoryGiB: 96,
    nvlink: false,
    pciId: "10de:2bb1",
    modules: ["open"],
    minimumDriver: "570.133.07",
    evidence: `${BLACKWELL}; absent in 570.124.04`,
  },
  {
    name: "rtx-pro-6000-blackwell-max-q",
    title: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    computeCapability: [12, 0],
    memoryGiB: 96,
    nvlink: false,
    pciId: "10de:2bb4",
    modules: ["open"],
    minimumDriver: "570.133.07",
    evidence: BLACKWELL,
  },
  {
    name: "rtx-pro-6000-blackwell-server",
    title: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    computeCapability: [12, 0],
    memoryGiB: 96,
    nvlink: false,
    pciId: "10de:2bb5",
    modules: ["open"],
    minimumDriver: "575.57.08",
    evidence: `${BLACKWELL}; absent in every 570 tag through 570.172.08`,
  },
  {
    name: "h200",
    title: "NVIDIA H200 SXM",
    computeCapability: [9, 0],
    memoryGiB: 141,
    nvlink: true,
    modules: ["open", "proprietary"],
    evidence:
      "a card of this kind (SM90, 141 GB) served a tiny model with SGLang 0.5.11 and driver 580.159.04, open modules",
  },
];

const byName = new Map(GPUS.map((gpu) => [gpu.name, gpu]));

/** The GPU of that name, or undefined. */
export function gpuByName(name: string): Gpu | undefined {
  return byName.get(name);
}
