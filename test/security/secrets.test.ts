/** Marked secrets in every place where one can be given, looked for wherever something is printed or written. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import { run } from "../../cli/main";
import { inspectStackFile, PROJECT_DIRECTORY } from "../../config/load";
import { ConfigurationError, formatProblems } from "../../config/problems";
import { SECRETS } from "../../config/schema";
import { planStack } from "../../plan/stack";
import { outcomeOf } from "../cli/captured-output";

const MARK = "PlantedSecret";

/** One of each, in the form that it must have; the host is a closed port of this machine. */
const PLANTED: Record<keyof typeof SECRETS, string> = {
  apiToken: `${MARK}@pve!iac=11111111-2222-3333-4444-555555555555`,
  apiPassword: `${MARK}-password with "quotes" and $signs`,
  sshPrivateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${MARK}\n-----END OPENSSH PRIVATE KEY-----\n`,
  huggingFaceToken: `hf_${MARK}0123456789abcdef`,
  serviceApiKey: `sk-${MARK}-key`,
};

type Config = Record<string, Record<string, Record<string, unknown>>>;

const folder = mkdtempSync(path.join(tmpdir(), "secrets-"));

/** The lab's stack file with secrets in it. */
function stackFile(
  secrets: Partial<typeof PLANTED>,
  change: (config: Config) => void = () => undefined,
): string {
  const { config } = parse(readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8")) as {
    config: Config;
  };
  const own = Object.fromEntries(
    Object.entries(config)
      .map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value] as const)
      .filter(([key]) => !(key in SECRETS)),
  ) as Config;
  Object.assign(own["host"] as object, {
    address: "127.0.0.1",
    sshPort: 1,
    api: { port: 1, tls: "insecure" },
  });
  change(own);
  const file = path.join(folder, "Pulumi.planted.yaml");
  const keys = Object.entries({ ...own, ...secrets }).map(([key, value]) => [
    `proxmox-gpu-stack:${key}`,
    value,
  ]);
  writeFileSync(file, stringify({ config: Object.fromEntries(keys) as object }));
  return file;
}

const TOKEN = { ...PLANTED, apiPassword: undefined };
const PASSWORD = { ...PLANTED, apiToken: undefined };

/** Everything in a folder, as one text. */
function contentOf(place: string): string {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

function withoutUndefined(secrets: Partial<Record<string, string | undefined>>): Partial<typeof PLANTED> {
  return Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== undefined));
}

describe.each([
  ["a token", withoutUndefined(TOKEN)],
  ["a password", withoutUndefined(PASSWORD)],
])("with %s and every other secret", (_, secrets) => {
  test.each([
    ["check FILE"],
    ["check FILE --json"],
    ["render FILE --out OUT"],
    ["render FILE --diff HEAD"],
    ["doctor FILE"],
    ["doctor FILE --json"],
    ["status FILE"],
    ["status FILE --json"],
    ["drift FILE"],
    ["drift FILE --json"],
    ["recover FILE qwen"],
    ["rollback FILE ml-env --list"],
    ["rehome FILE kpro5 --dry-run"],
  ])("stack %s prints and writes none", async (line) => {
    const file = stackFile(secrets);
    const out = path.join(mkdtempSync(path.join(tmpdir(), "rendered-")), "out");
    const words = line.split(" ").map((word) => ({ FILE: file, OUT: out })[word] ?? word);
    const { stdout, stderr } = await outcomeOf(() => run(words));
    expect(stdout + stderr).not.toBe("");
    expect(stdout + stderr).not.toContain(MARK);
    if (line.includes("OUT")) {
      expect(contentOf(out)).toContain("sglang");
      expect(contentOf(out)).not.toContain(MARK);
    }
  });

  test("the plan, which becomes command lines, units and digests, holds none", () => {
    const { config } = inspectStackFile(stackFile(secrets));
    if (config === undefined) throw new Error("the stack file was refused");
    expect(JSON.stringify(config)).not.toContain(MARK);
    expect(JSON.stringify(planStack(config, PROJECT_DIRECTORY))).not.toContain(MARK);
  });
});

test("secrets of a wrong form are refused without being shown", () => {
  const wrong = Object.fromEntries(Object.keys(SECRETS).map((name) => [name, `${MARK}\u0007 of no form\n`]));
  const { problems } = inspectStackFile(stackFile(wrong));
  expect(problems.filter(({ id }) => id === "wrong-secret")).toHaveLength(Object.keys(SECRETS).length);
  expect(formatProblems("file", problems)).not.toContain(MARK);
});

const set = (key: string, name: string, field: string, value: unknown) => (config: Config) => {
  (config[key]?.[name] as Record<string, unknown>)[field] = value;
};
const address = `http://user:${MARK}@192.0.2.1/file.run`;

/** A secret in a field that everybody can read. */
const MISPLACED: [string, (config: Config) => void][] = [
  [
    "a driver's address",
    (config) => Object.assign(config["driver"]?.["installer"] as object, { url: address }),
  ],
  [
    "a template's address",
    (config) => Object.assign(config["containers"]?.["ml"]?.["template"] as object, { url: address }),
  ],
  ["an index", set("environments", "ml-env", "index", `https://:${MARK}@192.0.2.1/simple`)],
  ["a hub's mirror", set("models", "qwen36", "endpoint", `http://192.0.2.1/?token=${MARK}`)],
  [
    "a wheelhouse's mirror",
    (config) => (config["wheelhouse"] = { path: "/srv/w", mirror: address } as never),
  ],
  ["a signed address", set("models", "qwen36", "endpoint", `http://192.0.2.1/x?X-Amz-Signature=${MARK}`)],
  ["a variable named like one", set("services", "qwen", "env", { HF_TOKEN: MARK })],
  [
    "a variable with an address",
    set("services", "qwen", "env", { HTTPS_PROXY: `http://u:${MARK}@192.0.2.1:3128` }),
  ],
  ["a variable with a token", set("services", "qwen", "env", { X: PLANTED.huggingFaceToken })],
  ["an argument", set("services", "qwen", "extraArgs", ["--api-key", MARK])],
  [
    "an argument with an address",
    set("services", "qwen", "extraArgs", ["--x", `http://u:${MARK}@192.0.2.1`]),
  ],
  [
    "a private key as the host's key",
    (config) => Object.assign(config["host"] as object, { hostKey: PLANTED.sshPrivateKey }),
  ],
  [
    "a secret inside a structure",
    (config) => Object.assign(config["host"] as object, { apiToken: PLANTED.apiToken }),
  ],
];

test.each(MISPLACED)("%s is refused without being shown", (_, change) => {
  const file = stackFile({ apiPassword: "x" }, change);
  let text: string;
  try {
    const { problems } = inspectStackFile(file);
    expect(problems.some(({ severity }) => severity === "error")).toBe(true);
    text = formatProblems("file", problems) + JSON.stringify(problems);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    text = error.message;
  }
  expect(text).not.toContain(MARK);
});
