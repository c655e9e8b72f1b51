/** The NVIDIA driver on the host. */
import { lt } from "@renovatebot/pep440";
import type { HostFacts, Rule } from "../rule";
import { buildName, inRange } from "../versions";

const CUDA_13_DRIVER = "580";
const PCIE_DRIVER = "590.48";

const needOpen = ({ gpus }: HostFacts) => gpus.filter(({ modules }) => !modules.includes("proprietary"));

const tooNew = ({ gpus, driver }: HostFacts) =>
  gpus.filter(({ minimumDriver }) => minimumDriver !== undefined && lt(driver.version, minimumDriver));

const titles = (gpus: HostFacts["gpus"]) => [...new Set(gpus.map(({ title }) => title))].join(", ");

const highest = (gpus: HostFacts["gpus"]) =>
  gpus.reduce((found, { minimumDriver = "0" }) => (lt(found, minimumDriver) ? minimumDriver : found), "0");

const cuda13 = ({ builds }: HostFacts) => builds.filter((build) => inRange(build, { from: "0.5.11" }));

export const HOST_RULES: readonly Rule<HostFacts>[] = [
  {
    id: "D1",
    subject: "Blackwell GPU with proprietary kernel modules",
    cases: [
      {
        when: (facts) => facts.driver.modules === "proprietary" && needOpen(facts).length > 0,
        severity: "error",
        setting: "modules",
        message: (facts) =>
          `${titles(needOpen(facts))} requires use of the NVIDIA open kernel modules (RmInitAdapter failed)`,
        fix: "set modules to open",
      },
    ],
    evidence: "start-os#3465, start-os#3693, ProxmoxVED#2125",
  },
  {
    id: "D2",
    subject: "driver that is older than the card",
    cases: [
      {
        when: (facts) => tooNew(facts).length > 0,
        severity: "error",
        setting: "version",
        message: (facts) => `driver ${facts.driver.version} does not know ${titles(tooNew(facts))}`,
        fix: (facts) => `use ${highest(tooNew(facts))} or newer`,
      },
    ],
    evidence: "supported table of open-gpu-kernel-modules per tag",
  },
  {
    id: "D3",
    subject: "driver before 580 with a release that brings CUDA 13",
    cases: [
      {
        when: (facts) => cuda13(facts).length > 0 && lt(facts.driver.version, CUDA_13_DRIVER),
        severity: "warning",
        setting: "version",
        message: (facts) =>
          `SGLang ${cuda13(facts).map(buildName).join(", ")} brings CUDA 13, which is said to need driver ${CUDA_13_DRIVER}; this is ${facts.driver.version}`,
        fix: `use ${CUDA_13_DRIVER} or newer`,
      },
    ],
    evidence:
      "pins of 0.5.11 and later (cuda-python>=13.0, torch for CUDA 13); the floor of 580 is not verified",
  },
  {
    id: "D4",
    subject: "many Blackwell cards on PCIe with a driver before 590.48",
    cases: [
      {
        when: ({ gpus, driver }) =>
          gpus.filter(({ computeCapability, nvlink }) => computeCapability[0] === 12 && !nvlink).length >=
            8 && lt(driver.version, PCIE_DRIVER),
        severity: "info",
        setting: "version",
        message: `tuning notes for 8 Blackwell cards on PCIe ask for driver ${PCIE_DRIVER} or newer`,
        fix: `use ${PCIE_DRIVER} or newer if the all-reduce is slow`,
      },
    ],
    evidence: "voipmonitor/rtx6kpro wiki 29f3863 (report)",
  },
];
