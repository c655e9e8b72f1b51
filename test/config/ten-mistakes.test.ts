import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspectStackFile, loadStackFile } from "../../config/load";
import { ConfigurationError } from "../../config/problems";
import { project } from "./support";

/** Ten mistakes of ten kinds, each marked with its number. */
const TEN_MISTAKES = `
config:
  proxmox-gpu-stack:host:
    node: pve1
    adress: 192.0.2.5 # 1: misspelt key
    hostKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+lmlurSWhg+ZOO8wdGmrAF138dqnZuL2AVL2gyEAZV
    reboot: maybe # 2: not a choice
  proxmox-gpu-stack:driver:
    version: 580.10 # 3: YAML reads a number and drops the zero
    modules: open
    installer:
      url: http://files.example.org/NVIDIA-Linux-x86_64-{version}.run
      sha256: 1234 # 4: not a checksum
  proxmox-gpu-stack:gpus:
    left: { model: rtx-a6000, uuid: GPU-11111111-2222-3333-4444-555555555555 }
    right: { model: rtx-a6000, uuid: GPU-11111111-2222-3333-4444-555555555555 } # 5: the same card
  proxmox-gpu-stack:containers:
    ml:
      vmId: 12 # 6: below the allowed range
      template:
        url: http://files.example.org/debian-12-standard_12.12-1_amd64.tar.zst
        sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      cores: 8
      memoryGiB: 64
      rootDisk: { storage: local-lvm, sizeGiB: 50 }
      network: { address: 192.0.2.129/24, gateway: 192.0.2.1 }
      gpus: [left]
      deviceMode: 0666 # 7: YAML reads a number
      mounts: [{ source: /srv/models, target: /models }]
  proxmox-gpu-stack:environments:
    ml-env: { container: ml, lock: sglang-0.5.11 }
  proxmox-gpu-stack:models:
    qwen:
      repo: Qwen/Qwen3.6-27B
      revision: main # 8: a branch
      path: /data/qwen # 9: no mount reaches it
  proxmox-gpu-stack:services:
    chat: { environment: mlenv, model: qwen, servedModelName: qwen } # 10: no such environment
    talk: { environment: ml-env, model: qwen, servedModelName: qwen }
  proxmox-gpu-stack:apiPassword: { secure: "v1:AAAA:BBBB" }
`;

function written(text: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "stack-")), "Pulumi.test.yaml");
  writeFileSync(file, text);
  return file;
}

function refusal(text: string): ConfigurationError {
  try {
    loadStackFile(written(text), project());
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("the stack was accepted");
}

test("ten different mistakes give one error that names path, value, what is allowed and the fix of each", () => {
  const { message, problems } = refusal(TEN_MISTAKES);
  const expected: [place: string, value: string, allowed: string, fix: string][] = [
    ["host.adress", "", "no such key", "did you mean address?"],
    [
      "host.reboot",
      '"maybe"',
      "allow or never",
      "pulumi config set --path 'proxmox-gpu-stack:host.reboot' allow",
    ],
    [
      "driver.version",
      "580.10",
      "must be a text, but YAML reads it as the number 580.1",
      'quote it: version: "580.10"',
    ],
    ["driver.installer.sha256", "1234", "must be a text", 'quote it: sha256: "1234"'],
    ["gpus.right.uuid", "GPU-1111", "is the UUID of proxmox-gpu-stack:gpus.left.uuid too", "nvidia-smi -L"],
    [
      "containers.ml.vmId",
      "12",
      "a number of at least 100",
      "pulumi config set --path 'proxmox-gpu-stack:containers.ml.vmId' 129",
    ],
    [
      "containers.ml.deviceMode",
      "0666",
      "must be a text, but YAML reads it as the number",
      'quote it: deviceMode: "0666"',
    ],
    [
      "models.qwen.revision",
      '"main"',
      "a commit of the repository, 40 hexadecimal digits",
      "pulumi config set --path",
    ],
    [
      "models.qwen.path",
      '"/data/qwen"',
      "no mount of the container ml (service talk) reaches it",
      "source: /data,",
    ],
    [
      "services.chat.environment",
      '"mlenv"',
      "must be an entry of environments: ml-env",
      "did you mean ml-env?",
    ],
  ];
  for (const [place, value, allowed, fix] of expected) {
    const block = message.split("\n\n").find((text) => text.includes(`proxmox-gpu-stack:${place}`));
    expect(block).toBeDefined();
    for (const part of [value, allowed, `fix: `, fix]) expect(block).toContain(part);
  }
  expect(problems).toHaveLength(expected.length);
  expect(message).toMatch(/^Pulumi\.test\.yaml: 10 problems\n/);
});

test("the same stack without its mistakes is accepted", () => {
  const corrected = TEN_MISTAKES.replace("adress", "address")
    .replace("maybe", "allow")
    .replace("version: 580.10", 'version: "580.105.08"')
    .replace("1234 #", `${"a".repeat(64)} #`)
    .replace("right: { model: rtx-a6000, uuid: GPU-1", "right: { model: rtx-a6000, uuid: GPU-2")
    .replace("vmId: 12 ", "vmId: 120 ")
    .replace("0666 ", '"0666" ')
    .replace("revision: main", `revision: ${"b".repeat(40)}`)
    .replace("/data/qwen", "/srv/models/qwen")
    .replace(/ {4}chat: .*\n/, "");
  expect(inspectStackFile(written(corrected), project()).problems).toEqual([]);
});

test.each([
  ["a syntax error with its line", "config:\n  a: [1\n  b: 2\n", /is no valid YAML: .* at line 3/],
  ["a key that stands twice", "config:\n  a: 1\n  a: 2\n", /is no valid YAML: Map keys must be unique/],
  ["a list instead of a mapping", "- a\n", /must be a mapping with the key config/],
  ["configuration that is no mapping", "config: text\n", /config must be a mapping of keys/],
])("%s is one clear error", (_, text, message) => {
  expect(refusal(text).message).toMatch(message);
});

test("a file that is not there is named", () => {
  expect(() => loadStackFile("/nowhere/Pulumi.x.yaml")).toThrow(
    /Pulumi\.x\.yaml: 1 problem\n\n.*cannot be read/,
  );
});

test("keys beside config are Pulumi's own or unknown", () => {
  const { problems } = refusal("secretsprovder: x\nproxmox-gpu-stack:host: {}\nconfig: {}\n");
  const fixes = problems.map((problem) => `${problem.path}: ${problem.fix}`);
  expect(fixes).toContain("secretsprovder: did you mean secretsprovider?");
  expect(fixes).toContain("proxmox-gpu-stack:host: indent it under config:");
});
