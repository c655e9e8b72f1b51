import { parse } from "yaml";

import { adoptedEntries } from "../../../cli/adopt/entries";
import type { ContainerContents } from "../../../cli/adopt/facts";
import { importFile } from "../../../cli/adopt/import-file";
import { projectLocks } from "../../../cli/adopt/locks";
import { nextCommands } from "../../../cli/adopt/next-commands";
import { adoptionReport } from "../../../cli/adopt/report";
import { restartReasons } from "../../../cli/adopt/restart-reasons";
import { stackFileText } from "../../../cli/inventory/stack-file";
import { inspectStack, PROJECT_DIRECTORY } from "../../../config/load";
import type { HostFacts } from "../../../cli/inventory/host-facts";
import { planContainers } from "../../../plan/container-steps";
import { contents, host, UNIT, unit } from "./samples";

const LOCKS = projectLocks(PROJECT_DIRECTORY);

/** The host with another text of its container's file. */
function hostWith(change: (configuration: string) => string): HostFacts {
  const facts = host();
  const containers = facts.containers.map((entry) => ({
    ...entry,
    configuration: change(entry.configuration),
  }));
  return { ...facts, containers };
}

function adopt(inside: ContainerContents = contents(), facts: HostFacts = host()) {
  const found = new Map([["129", inside]]);
  const adopted = adoptedEntries(facts, found, LOCKS);
  const text = stackFileText("192.0.2.5", facts, adopted);
  const { config } = parse(text) as { config: Record<string, Record<string, Record<string, unknown>>> };
  const { config: declared } = inspectStack(config, { projectDirectory: PROJECT_DIRECTORY });
  const plans = declared === undefined ? [] : planContainers(declared);
  return {
    text,
    config,
    block: (name: string) => config[`proxmox-gpu-stack:${name}`] ?? {},
    report: adoptionReport(facts, found, adopted, plans),
    commands: nextCommands(
      { stack: "kpro5", stackFile: "Pulumi.kpro5.yaml", importFile: "adopt-kpro5.json" },
      ["ml"],
      adopted,
    ),
  };
}

describe("a container that was made to serve by hand", () => {
  test("becomes a stack file that lacks only what nobody can know", () => {
    const { config } = adopt();
    const { problems } = inspectStack(config, { projectDirectory: PROJECT_DIRECTORY });
    expect(problems.map(({ id, path }) => `${id} ${path.replace("proxmox-gpu-stack:", "")}`)).toEqual([
      "missing-secret apiToken",
      "unknown-pin driver.installer.sha256",
      "unknown-pin containers.ml.template.sha256",
    ]);
  });

  test("keeps its server's settings, spelt as the stack spells them, beside the old unit", () => {
    const { block } = adopt();
    expect(block("services")).toEqual({
      "qwen3-6-27b": {
        environment: "ml-env",
        model: "qwen3-6-27b",
        enabled: false,
        replaces: "sglang-qwen.service",
        servedModelName: "qwen3.6-27b",
        port: 30000,
        contextLength: 262144,
        memFractionStatic: 0.8,
        attentionBackend: "triton",
        mambaScheduler: "extra_buffer",
        reasoningParser: "qwen3",
        toolCallParser: "qwen3_coder",
        speculative: { algorithm: "nextn", steps: 3, topk: 1, draftTokens: 4 },
        extraArgs: ["--log-requests"],
        env: { NCCL_P2P_LEVEL: "SYS" },
      },
    });
    expect(block("models")).toEqual({
      "qwen3-6-27b": { repo: "Qwen/Qwen3.6-27B", revision: "c".repeat(40), path: "/srv/models/qwen3.6-27b" },
    });
  });

  test("gets an environment at another path, from the nearest lock, with the differences told", () => {
    const { block, text, report } = adopt();
    expect(block("environments")).toEqual({
      "ml-env": { container: "ml", path: "/opt/ml-env", lock: "qwen36-sglang-0.5.11", python: "3.11" },
    });
    expect(text).toContain("/root/ml-env was made by hand and stays");
    expect(report).toContain("transformers 5.8.0 -> 5.6.0");
    expect(report).not.toMatch(/\bpip 25/);
    // What every hand-made list lacks is counted.
    expect(report).not.toContain("aiohttp");
    expect(report).toMatch(/\d+ only in the lock$/m);
  });

  test("loses no secret to the file", () => {
    const { text, report } = adopt();
    for (const secret of ["hf_secret", "sk-secret"]) expect(text + report).not.toContain(secret);
    expect(text).toContain("HF_TOKEN looks like a secret");
    expect(text).toContain("it has a key on its command line");
  });

  test("is told by subject what the first up changes, and what serves until the switch", () => {
    const { report } = adopt();
    expect(report).toBe(`What the first \`up\` does:
  host pve1
    keeps    NVIDIA driver 580.105.08
    adds     headers and DKMS for its kernels, nouveau out of every initramfs: where they are missing
    adds     gpu-nodes.service: device nodes at every boot, each container held to its own cards
  container 129 (ml)
    keeps    running, with its devices, mounts, settings and data
    keeps    NVIDIA's libraries 580.105.08
  model qwen3-6-27b
    checks   every file of /srv/models/qwen3.6-27b against the hub's hashes; what is right is kept, read-only
    moves    what is no part of it into /srv/models/qwen3.6-27b.replaced; fetches what is missing
  environment ml-env
    adds     /opt/ml-env from the lock qwen36-sglang-0.5.11
    keeps    /root/ml-env; remove it when nothing runs from it any more
    differs  ${/differs {2}(.*)/.exec(report)?.[1]}
  service qwen3-6-27b
    adds     sglang-qwen3-6-27b.service, not started
    keeps    sglang-qwen.service, which goes on serving

The switch to sglang-qwen3-6-27b.service comes when you set services.qwen3-6-27b.enabled: true:
  sglang-qwen.service stops, the new one loads the model and is held to its health gate. That is the one outage.
  Passed: sglang-qwen.service is disabled, its file stays. Failed: sglang-qwen.service is started again, and \`up\` says why.
`);
  });

  test("is told of settings that the first up changes", () => {
    const facts = hostWith((text) => text.replace(/^cores: .*\n/m, "nameserver: 192.0.2.1 2001:db8::1\n"));
    const { report } = adopt(contents({ driverLibraries: "" }), facts);
    expect(report).toContain(`changes  cores: all -> ${facts.cores}\n`);
    expect(report).toContain("changes  name servers: 192.0.2.1 2001:db8::1 -> 192.0.2.1\n");
    expect(report).toContain("changes  NVIDIA's libraries: none -> 580.105.08\n");
  });

  test("comes with the commands to run, in their order", () => {
    const { commands } = adopt();
    const verbs = commands.match(/(?<=^ {2})(pulumi( config| stack)? \S+|\.\/stack \S+)/gm);
    expect(verbs).toEqual([
      "pulumi stack init",
      "pulumi config set",
      "pulumi config set",
      "./stack check",
      "pulumi up",
      "pulumi import",
      "pulumi preview",
      "pulumi up",
      "pulumi config rm",
      "pulumi config set",
      "pulumi up",
    ]);
    expect(commands).toContain("pulumi import --stack kpro5 --file adopt-kpro5.json --generate-code=false");
  });

  test("that closes its cards to others than root has its service run by root", () => {
    const { block, report } = adopt(
      contents(),
      hostWith((text) => text.replaceAll(",mode=0666", "")),
    );
    expect(block("containers")).toMatchObject({ ml: { deviceMode: "0660" } });
    expect(block("services")).toMatchObject({ "qwen3-6-27b": { user: "root" } });
    expect(report).toContain("keeps    running");
  });

  test("keeps memory to the MiB, swap and notes as they are", () => {
    const notes = "#Karten f%C3%BCr das Modell\n#100 %25\n";
    const { block, report } = adopt(
      contents(),
      hostWith((text) => `${notes}${text.replace("memory: 98304", "memory: 2000")}`),
    );
    expect(block("containers")).toMatchObject({
      ml: { memoryGiB: 1.953125, swapGiB: 0.5, description: "Karten für das Modell\n100 %" },
    });
    expect(report).not.toContain("changes");
  });
});

describe("a service of the stack", () => {
  test("is never named so that its unit is the hand-made one", () => {
    const text = UNIT.replace("--served-model-name qwen3.6-27b", "--served-model-name qwen");
    expect(Object.keys(adopt(contents({ units: [unit({ text })] })).block("services"))).toEqual([
      "qwen-stack",
    ]);
  });

  test("is read from the running process where the unit runs a script", () => {
    const text = "[Service]\nExecStart=/root/start.sh\n";
    const running = [
      "/root/ml-env/bin/python3",
      "-m",
      "sglang.launch_server",
      "--model-path",
      "/models/qwen3.6-27b",
    ];
    const { block, text: file } = adopt(contents({ units: [unit({ text, running })] }));
    expect(Object.values(block("services"))).toMatchObject([
      { listen: "127.0.0.1", replaces: "sglang-qwen.service" },
    ]);
    expect(file).toContain("read from the running process");
  });

  test("is not made of a unit that runs something else", () => {
    const text = "[Service]\nExecStart=/usr/bin/python3 /root/metrics.py\n";
    const { block, text: file } = adopt(contents({ units: [unit({ text })] }));
    expect(block("services")).toEqual({});
    expect(file).toContain("sglang-qwen.service of ml runs no server of SGLang's: it stays as it is");
  });

  test("keeps flags that its release does not know, and says so", () => {
    const text = UNIT.replace("--log-requests", "--no-such-flag-at-all");
    const { block, text: file } = adopt(contents({ units: [unit({ text })] }));
    expect(Object.values(block("services"))).toMatchObject([{ extraArgs: ["--no-such-flag-at-all"] }]);
    expect(file).toContain("--no-such-flag-at-all is not a flag of SGLang 0.5.11");
  });
});

test.each([
  [["features: keyctl=1"], "it has no nesting"],
  [["features: nesting=1", "dev0: /dev/nvidia0"], "it lacks /dev/nvidiactl"],
  [
    ["features: nesting=1", "dev0: /dev/nvidiactl", "dev1: /dev/nvidia-modeset"],
    "it has /dev/nvidia-modeset, which CUDA does not need",
  ],
  [
    ["features: nesting=1", "dev0: /dev/nvidiactl", "dev1: /dev/nvidia-uvm,mode=0666"],
    "/dev/nvidia-uvm get the mode 0660, as /dev/nvidiactl has",
  ],
  [["features: nesting=1", "lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind"], "raw lxc.* lines"],
])("a container with %j is told to be restarted: %s", (lines, reason) => {
  expect(restartReasons(lines.join("\n"), host()).join("; ")).toContain(reason);
});

test("the import file names component, container and provider as the program does", () => {
  expect(importFile("kpro5", "kpro5", [{ name: "ml", id: "129" }])).toEqual({
    nameTable: { proxmox: "urn:pulumi:kpro5::proxmox-gpu-stack::pulumi:providers:proxmoxve::proxmox" },
    resources: [
      { type: "proxmox-gpu-stack:index:GpuContainer", name: "ml", component: true },
      {
        type: "proxmoxve:index/containerLegacy:ContainerLegacy",
        name: "ml-container",
        id: "kpro5/129",
        parent: "ml",
        provider: "proxmox",
      },
    ],
  });
});
