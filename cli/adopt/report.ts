/** What the first `up` of an adopted stack changes and what it leaves, by subject. */
import type { ContainerPlan } from "../../plan/container-steps";
import { settingDrifts } from "../drift/container-settings";
import { driverState } from "../inventory/driver-block";
import type { ContainerFacts, HostFacts } from "../inventory/host-facts";
import type { Adopted, AdoptedService } from "./entries";
import type { ContainerContents } from "./facts";
import { differenceText } from "./locks";
import { restartReasons } from "./restart-reasons";

/** A subject with what happens to it: a word such as `keeps`, and what. */
interface Section {
  readonly title: string;
  readonly lines: readonly (readonly [word: string, text: string])[];
}

function hostSection(facts: HostFacts): Section {
  const { version, notes } = driverState(facts);
  const isAsDeclared = version !== undefined && version === facts.driverLoaded;
  return {
    title: `host ${facts.node}`,
    lines: [
      isAsDeclared
        ? [
            "keeps",
            `NVIDIA driver ${version}${facts.foreignDriver === "" ? "" : ", which no stack put there"}`,
          ]
        : ["changes", `its driver: ${notes.join("; ")}`],
      ["adds", "headers and DKMS for its kernels, nouveau out of every initramfs: where they are missing"],
      ["adds", "gpu-nodes.service: device nodes at every boot, each container held to its own cards"],
    ],
  };
}

function containerSection(
  container: ContainerFacts,
  contents: ContainerContents,
  plan: ContainerPlan | undefined,
  facts: HostFacts,
): Section {
  const reasons = restartReasons(container.configuration, facts);
  const settings = plan === undefined ? [] : settingDrifts(plan, container.configuration);
  const libraries = contents.driverLibraries;
  const wanted = driverState(facts).version ?? "the declared driver's";
  return {
    title: `container ${container.id}${plan === undefined ? "" : ` (${plan.name})`}`,
    lines: [
      ...(reasons.length === 0
        ? [["keeps", "running, with its devices, mounts, settings and data"] as const]
        : reasons.map((reason) => ["restarts", reason] as const)),
      ...settings.map(
        ({ setting, found, declared }) => ["changes", `${setting}: ${found} -> ${declared}`] as const,
      ),
      libraries === wanted
        ? ["keeps", `NVIDIA's libraries ${libraries}`]
        : ["changes", `NVIDIA's libraries: ${libraries === "" ? "none" : libraries} -> ${wanted}`],
    ],
  };
}

function modelSections({ models }: Adopted): Section[] {
  return Object.entries(models.value).map(([name, { path }]) => ({
    title: `model ${name}`,
    lines: [
      ["checks", `every file of ${String(path)} against the hub's hashes; what is right is kept, read-only`],
      ["moves", `what is no part of it into ${String(path)}.replaced; fetches what is missing`],
    ],
  }));
}

function environmentSections({ list, environments }: Adopted): Section[] {
  return Object.entries(environments.value).map(([name, { path }]) => {
    const service = list.find((candidate) => candidate.path === path);
    return {
      title: `environment ${name}`,
      lines: [
        ["adds", `${String(path)} from the lock ${service?.lock.name ?? "that you choose"}`],
        ...(service?.madeByHand === undefined
          ? []
          : [
              ["keeps", `${service.madeByHand}; remove it when nothing runs from it any more`] as const,
              ["differs", differenceText(service.lock.differences)] as const,
            ]),
      ],
    };
  });
}

function serviceSection({ name, unit, isRunning }: AdoptedService): Section {
  return {
    title: `service ${name}`,
    lines: [
      ["adds", `sglang-${name}.service, not started`],
      ["keeps", `${unit}${isRunning ? ", which goes on serving" : ", which does not run now"}`],
    ],
  };
}

function sectionText({ title, lines }: Section): string[] {
  return [`  ${title}`, ...lines.map(([word, text]) => `    ${word.padEnd(8)} ${text}`)];
}

/** What replaces a hand-made unit, and when: nobody is to be surprised by an outage. */
function switchText({ list }: Adopted): string[] {
  return list.flatMap(({ name, unit }) => [
    "",
    `The switch to sglang-${name}.service comes when you set services.${name}.enabled: true:`,
    `  ${unit} stops, the new one loads the model and is held to its health gate. That is the one outage.`,
    `  Passed: ${unit} is disabled, its file stays. Failed: ${unit} is started again, and \`up\` says why.`,
  ]);
}

/**
 * One text of lines.
 *
 * @param plans the containers as the written stack file declares them; empty when `check` has errors in it
 */
export function adoptionReport(
  facts: HostFacts,
  contents: ReadonlyMap<string, ContainerContents>,
  adopted: Adopted,
  plans: readonly ContainerPlan[],
): string {
  const containers = facts.containers.flatMap((container) => {
    const inside = contents.get(container.id);
    const plan = plans.find(({ settings }) => String(settings.vmId) === container.id);
    return inside === undefined ? [] : [containerSection(container, inside, plan, facts)];
  });
  const sections = [
    hostSection(facts),
    ...containers,
    ...modelSections(adopted),
    ...environmentSections(adopted),
    ...adopted.list.map(serviceSection),
  ];
  return ["What the first `up` does:", ...sections.flatMap(sectionText), ...switchText(adopted), ""].join(
    "\n",
  );
}
