import { writeFileSync } from "node:fs";
import path from "node:path";
import { inspectStack, loadStackConfig, refuseIncomplete } from "../../config/load";
import { pathInContainer } from "../../config/mounts";
import { ConfigurationError } from "../../config/problems";
import { container, inspected, problemsAfter, project, rawOf, service, stack } from "./support";

const TOKEN = "root@pam!iac=11111111-2222-3333-4444-555555555555";

test("Pulumi's raw values become a configuration with defaults and resolved references", () => {
  const { config } = inspected(() => undefined);
  expect(config?.host).toMatchObject({ sshPort: 22, reboot: "never", api: { port: 8006, tls: "verify" } });
  expect(config?.driver.installer.url).toBe("http://files.example.org/NVIDIA-Linux-x86_64-580.105.08.run");
  expect(config?.containers["ml"]).toMatchObject({
    hostname: "ml",
    unprivileged: true,
    protect: true,
    deviceMode: "0666",
  });
  expect(config?.services["chat"]).toMatchObject({
    unit: "sglang-chat.service",
    container: "ml",
    gpus: ["left", "right"],
    release: "0.5.11",
    modelPath: "/models/qwen",
    draftModelPath: undefined,
    user: "sglang",
    port: 30000,
  });
  expect(config?.secrets).toEqual(["apiPassword"]);
});

test("a draft model is found in the container too", () => {
  const { config } = inspected((keys) => {
    keys["models"] = {
      ...keys["models"],
      draft: { repo: "a/draft", revision: "c".repeat(40), path: "/srv/models/draft" },
    };
    keys["services"] = {
      chat: service({ speculative: { algorithm: "eagle3", steps: 3, topk: 1, draftModel: "draft" } }),
    };
  });
  expect(config?.services["chat"]?.draftModelPath).toBe("/models/draft");
});

test("a host without containers is a stack", () => {
  const { host, driver, gpus } = stack();
  expect(inspectStack(rawOf({ host, driver, gpus })).problems).toEqual([]);
});

test("a stack without its own keys names each that it needs", () => {
  const { problems } = inspectStack(rawOf({}));
  expect(problems.map((problem) => problem.path)).toEqual([
    "proxmox-gpu-stack:host",
    "proxmox-gpu-stack:driver",
    "proxmox-gpu-stack:gpus",
  ]);
});

test("an error is thrown with every problem, warnings included", () => {
  const keys = stack();
  keys["host"] = { ...keys["host"], reboot: "x", hostKey: "unknown" };
  const load = (): unknown => loadStackConfig(rawOf(keys), { source: "lab", projectDirectory: project() });
  expect(load).toThrow(ConfigurationError);
  expect(load).toThrow(/^lab: 2 problems\n[\s\S]*host\.reboot[\s\S]*host\.hostKey/);
});

test("unknown keys of the project are errors, keys of other namespaces are not ours", () => {
  const raw = {
    ...rawOf(stack()),
    "pulumi:tags": "{}",
    "proxmox-gpu-stack:service": "{}",
    "proxmox-gpu-stack:apiPasword": "x",
    host: "{}",
  };
  const { problems } = inspectStack(raw, { projectDirectory: project() });
  expect(problems.map((problem) => [problem.path, problem.fix])).toEqual([
    ["proxmox-gpu-stack:service", "did you mean proxmox-gpu-stack:services?"],
    ["proxmox-gpu-stack:apiPasword", "did you mean proxmox-gpu-stack:apiPassword?"],
    ["host", "write proxmox-gpu-stack:host"],
  ]);
});

test.each([
  ["text where a mapping belongs", "host", "pve1", "proxmox-gpu-stack:host", "must be a mapping of keys"],
  ["a list where a map belongs", "gpus", [], "proxmox-gpu-stack:gpus", "must be a mapping of names"],
  ["null where a map belongs", "services", null, "proxmox-gpu-stack:services", "must be a mapping of names"],
  [
    "a name with capitals",
    "containers",
    { ML: container() },
    "proxmox-gpu-stack:containers.ML",
    "lower-case letters",
  ],
  [
    "a port out of range",
    "services",
    { chat: service({ port: 70000 }) },
    "proxmox-gpu-stack:services.chat.port",
    "at most 65535",
  ],
  [
    "half a core",
    "containers",
    { ml: container({ cores: 1.5 }) },
    "proxmox-gpu-stack:containers.ml.cores",
    "a whole number",
  ],
  [
    "a share above one",
    "services",
    { chat: service({ memFractionStatic: 80 }) },
    "proxmox-gpu-stack:services.chat.memFractionStatic",
    "a number below 1",
  ],
  [
    "an unquoted truth value",
    "environments",
    { "ml-env": { container: "ml", lock: true } },
    "proxmox-gpu-stack:environments.ml-env.lock",
    "true or false",
  ],
  [
    "Python 3.10 without quotes",
    "environments",
    { "ml-env": { container: "ml", lock: "sglang-0.5.11", python: 3.1 } },
    "proxmox-gpu-stack:environments.ml-env.python",
    "the number 3.1",
  ],
  [
    "a card that nobody knows",
    "gpus",
    { left: { model: "rtx-a600", uuid: "unknown" } },
    "proxmox-gpu-stack:gpus.left.model",
    "rtx-a6000",
  ],
  [
    "a reason that says nothing",
    "services",
    { chat: service({ acknowledge: [{ rule: "R28", reason: "ok" }] }) },
    "proxmox-gpu-stack:services.chat.acknowledge[0].reason",
    "at least 10 characters",
  ],
])("%s is one error", (_, key, value, place, message) => {
  const errors = problemsAfter((keys) => {
    keys[key] = value as Record<string, unknown>;
  }).filter((problem) => problem.severity === "error");
  expect(errors[0]).toMatchObject({ path: place, message: expect.stringContaining(message) as string });
});

test("a long value is shortened in the message", () => {
  const keys = stack();
  keys["host"] = { ...keys["host"], hostKey: `ssh-ed25519 ${"!".repeat(500)}` };
  const load = (): unknown => loadStackConfig(rawOf(keys), { projectDirectory: project() });
  expect(load).toThrow(/!{20}…/);
  expect(load).not.toThrow(/!{100}/);
});

describe("values that nobody recorded", () => {
  const incomplete = () =>
    inspected(
      (keys) => {
        keys["host"] = { ...keys["host"], address: "unknown", hostKey: "unknown" };
        keys["gpus"] = {
          left: { model: "rtx-a6000", uuid: "unknown" },
          right: { model: "rtx-a6000", uuid: "unknown" },
        };
        keys["models"] = {
          qwen: { repo: "Qwen/Qwen3.6-27B", revision: "unknown", path: "/srv/models/qwen" },
        };
      },
      { secrets: {} },
    );

  test("leave a configuration for previews, with a warning for each", () => {
    const { config, problems } = incomplete();
    expect(config).toBeDefined();
    expect(problems.every((problem) => problem.severity === "warning" && problem.blocksUp === true)).toBe(
      true,
    );
    expect(problems.map((problem) => problem.path)).toEqual(
      [
        "apiToken",
        "host.address",
        "host.hostKey",
        "gpus.left.uuid",
        "gpus.right.uuid",
        "models.qwen.revision",
      ].map((place) => `proxmox-gpu-stack:${place}`),
    );
  });

  test("are refused by `up`, all at once and with the way to each", () => {
    expect(() => refuseIncomplete(incomplete())).toThrow(/6 problems[\s\S]*ssh root@HOST nvidia-smi -L/);
    expect(() => refuseIncomplete(inspected(() => undefined))).not.toThrow();
  });
});

describe("secrets", () => {
  const ids = (secrets: Record<string, string>) =>
    problemsAfter(() => undefined, { secrets }).map((problem) => [problem.id, problem.path.split(":")[1]]);

  test("either the token or the password opens the API, not both", () => {
    expect(ids({ apiToken: TOKEN })).toEqual([]);
    expect(ids({ apiToken: TOKEN, apiPassword: "x" })).toEqual([["two-api-secrets", "apiPassword"]]);
    expect(
      ids({
        apiToken: TOKEN,
        sshPrivateKey: "-----BEGIN OPENSSH PRIVATE KEY-----\nAA\n-----END OPENSSH PRIVATE KEY-----\n",
      }),
    ).toEqual([]);
  });

  test("of a wrong form are refused without being shown", () => {
    const problems = problemsAfter(() => undefined, {
      secrets: { apiToken: "hidden", sshPrivateKey: "hidden" },
    });
    expect(problems.map((problem) => problem.id)).toEqual(["wrong-secret", "wrong-secret"]);
    expect(JSON.stringify(problems)).not.toContain("hidden");
  });
});

describe("a checksum from a file", () => {
  const withFile = (text: string | undefined) => {
    const directory = project();
    if (text !== undefined) writeFileSync(path.join(directory, "SHA256SUMS"), text);
    return inspected(
      (keys) => {
        keys["driver"] = {
          ...keys["driver"],
          installer: {
            url: "http://files.example.org/nvidia/NVIDIA-Linux-x86_64-{version}.run?a=b",
            sha256: "file:SHA256SUMS",
          },
        };
      },
      { projectDirectory: directory },
    );
  };
  const sum = "0123456789abcdef".repeat(4);

  test.each([
    `${sum}  NVIDIA-Linux-x86_64-580.105.08.run\n`,
    `${"f".repeat(64)}  other.run\n${sum} *./nvidia/NVIDIA-Linux-x86_64-580.105.08.run\r\n`,
  ])("is the line with the address's file name", (text) => {
    expect(withFile(text).config?.driver.installer.sha256).toBe(sum);
  });

  test("that is not there yet lets a preview pass and stops `up`", () => {
    const { config, problems } = withFile(undefined);
    expect(config?.driver.installer.sha256).toBe("unknown");
    expect(problems).toMatchObject([
      { id: "checksum-file-missing", blocksUp: true, path: "proxmox-gpu-stack:driver.installer.sha256" },
    ]);
  });

  test("without the line is an error that names file and line", () => {
    const { config, problems } = withFile(`${sum}  NVIDIA-Linux-x86_64-590.48.01.run\n`);
    expect(config).toBeUndefined();
    expect(problems).toMatchObject([
      {
        id: "checksum-line-missing",
        severity: "error",
        message: "SHA256SUMS has no line for NVIDIA-Linux-x86_64-580.105.08.run",
      },
    ]);
  });
});

describe("the release of a service", () => {
  const releaseWith = (lock: string, stated?: string) =>
    inspected(
      (keys) => {
        keys["services"] = { chat: service(stated === undefined ? {} : { release: stated }) };
      },
      { projectDirectory: project(lock) },
    );

  test.each([
    ["sglang==0.5.12.post1 --hash=sha256:00", "0.5.12.post1"],
    ["torch==2.11.0\nsglang[all]==0.5.11 ; python_version >= '3.10'\n", "0.5.11"],
    [`sglang @ git+https://github.com/sgl-project/sglang@${"d".repeat(40)}`, "d".repeat(40)],
  ])("is the lock's", (lock, release) => {
    expect(releaseWith(lock).config?.services["chat"]?.release).toBe(release);
  });

  test("must be stated when the lock does not tell it", () => {
    expect(releaseWith("sglang-kernel==0.4.2\n").problems.map((problem) => problem.id)).toEqual([
      "release-unknown",
    ]);
    expect(releaseWith("torch==2.11.0\n", "0.5.11").config?.services["chat"]?.release).toBe("0.5.11");
  });
});

test.each([
  [
    "/srv/models/x",
    [
      { source: "/srv", target: "/a" },
      { source: "/srv/models", target: "/b" },
    ],
    "/b/x",
  ],
  ["/srv/models", [{ source: "/srv/models", target: "/models" }], "/models"],
  ["/srv/models2/x", [{ source: "/srv/models", target: "/models" }], undefined],
  ["/srv/x", [], undefined],
])("%s is seen through the mount with the longest source", (hostPath, mounts, expected) => {
  expect(pathInContainer(hostPath, mounts)).toBe(expected);
});
