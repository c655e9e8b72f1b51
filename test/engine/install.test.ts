import { appendFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dependencies } from "../../package.json";
import { Checkout } from "./support/checkout";
import { until } from "./support/until";

// On a busy machine everything takes several times as long.
jest.setTimeout(60_000);

const PULUMI = dependencies["@pulumi/pulumi"];
const COMMAND = dependencies["@pulumi/command"];
const PROXMOXVE = dependencies["@muhlba91/pulumi-proxmoxve"];

/** A Go that "builds" a script, notes each build, and does what the test says in files. */
const FAKE_GO = `
folder="$FAKE_GO_FOLDER"
case "$1" in
  env)
    if [[ -e "$folder/go-version" ]]; then version="$(<"$folder/go-version")"; else version=go1.26.8; fi
    for name in "\${@:2}"; do
      case "$name" in GOVERSION) echo "$version" ;; *) echo "$name" ;; esac
    done
    ;;
  list) printf 'package-a\\npackage-b\\n' ;;
  build)
    while [[ "$1" != -o ]]; do shift; done
    echo "begin $(basename "$2")" >>"$folder/builds"
    if [[ -e "$folder/go-fails" ]]; then echo "package-a: no space left" >&2; exit 1; fi
    if [[ -e "$folder/go-hangs" ]]; then exec sleep 60; fi
    sleep 0.3
    printf '#!/bin/sh\\necho built\\n' >"$2"
    chmod +x "$2"
    echo "end $(basename "$2")" >>"$folder/builds"
    ;;
esac`;

describe("engine/install", () => {
  let checkout: Checkout;

  beforeEach(() => {
    checkout = new Checkout();
    checkout.script("bin/go", FAKE_GO);
    // Nothing that is installed on this machine is found before it.
    checkout.script("bin/pulumi", "exit 1");
  });
  afterEach(() => checkout.remove());

  const builds = () => (checkout.has("builds") ? checkout.read("builds").trim().split("\n") : []);
  const facts = () => checkout.read("root/.lab/engine/facts.sh");
  const built = (name: string) => [`begin ${name}`, `end ${name}`];
  const engineBuilt = built("pulumi");
  // Twice: the second time with the schema that the first one printed.
  const proxmoxBuilt = [...built("pulumi-resource-proxmoxve"), ...built("pulumi-resource-proxmoxve")];
  const standInsBuilt = [...built("pulumi-language-nodejs"), ...built("pulumi-resource-command")];
  const allBuilt = [...engineBuilt, ...proxmoxBuilt, ...standInsBuilt];

  describe("with an official Pulumi", () => {
    beforeEach(() => {
      checkout.script("bin/pulumi", `[ "$1" = version ] && echo v${PULUMI}`);
      checkout.script("bin/pulumi-language-nodejs", "true");
      plugin("command", COMMAND);
      plugin("proxmoxve", PROXMOXVE);
    });
    const pluginFolder = (name: string, version: string) =>
      `home/.pulumi/plugins/resource-${name}-v${version}`;
    const plugin = (name: string, version: string) => {
      checkout.script(`${pluginFolder(name, version)}/pulumi-resource-${name}`, "true");
    };

    test("of the pinned versions it is used as it is", async () => {
      expect(await checkout.install()).toMatchObject({ code: 0 });
      expect(facts()).toContain("ENGINE_KIND=official\n");
      expect(facts()).toContain(`ENGINE_BIN=${checkout.path("bin")}\n`);
      expect(builds()).toEqual([]);

      const { stdout } = await checkout.bash(". engine/env.sh && env");
      expect(stdout).toContain(`PULUMI_HOME=${checkout.path("home/.pulumi")}\n`);
      expect(stdout).toContain(`PULUMI_BACKEND_URL=file://${checkout.path("root/.lab/pulumi-state")}\n`);
      expect(stdout).not.toContain("PULUMI_DISABLE");
    });

    test("it is found again in a shell that has the environment already", async () => {
      await checkout.install();
      expect(await checkout.bash(". engine/env.sh && engine/install")).toMatchObject({ code: 0 });
      expect(facts()).toContain("ENGINE_KIND=official\n");
    });

    test.each([
      ["another version", "v3.1.0, needed is", () => checkout.script("bin/pulumi", "echo v3.1.0")],
      [
        "no language host",
        "has no pulumi-language-nodejs beside it",
        () => checkout.edit("bin/pulumi-language-nodejs", () => ""),
      ],
      [
        "a plugin of another version",
        `has no plugin proxmoxve ${PROXMOXVE}`,
        () => checkout.edit(`${pluginFolder("proxmoxve", PROXMOXVE)}/pulumi-resource-proxmoxve`, () => ""),
      ],
      [
        "a plugin whose download was cut off",
        `has no plugin command ${COMMAND}`,
        () => mkdirSync(checkout.path(`${pluginFolder("command", COMMAND)}.partial`)),
      ],
    ])("%s: it is not used, and the reason is said", async (_, reason, prepare) => {
      prepare();
      await checkout.bash("find ../bin ../home -type f -empty -delete");
      const { code, stderr } = await checkout.install();
      expect(code).toBe(0);
      expect(stderr).toContain(reason);
      expect(facts()).toContain("ENGINE_KIND=built\n");
    });
  });

  describe("without one", () => {
    test("all four programs are built and laid out", async () => {
      expect(await checkout.install()).toMatchObject({ code: 0 });
      expect(builds()).toEqual(allBuilt);
      const command = `. engine/env.sh && pulumi && ls -1 "$PULUMI_HOME/plugins"/*`;
      const { stdout } = await checkout.bash(command);
      expect(stdout).toMatch(/^built\n/);
      expect(stdout).toContain(`resource-command-v${COMMAND}:\npulumi-resource-command\n`);
      expect(stdout).toContain(`resource-proxmoxve-v${PROXMOXVE}:\npulumi-resource-proxmoxve\n`);
      // The engine takes the language host without a warning only from beside the real file.
      expect(statSync(checkout.path("root/.lab/engine/bin/pulumi-language-nodejs")).isFile()).toBe(true);
    });

    test("a second run builds nothing; other inputs are built again", async () => {
      await checkout.install();
      await checkout.install();
      expect(builds()).toEqual(allBuilt);
      appendFileSync(checkout.path("root/engine/proxmox-provider/names.go"), "// changed\n");
      await checkout.install();
      expect(builds()).toEqual([...allBuilt, ...proxmoxBuilt]);
      appendFileSync(checkout.path("root/engine/stand-ins/internal/plugin/serve.go"), "// changed\n");
      await checkout.install();
      expect(builds()).toEqual([...allBuilt, ...proxmoxBuilt, ...standInsBuilt]);
      writeFileSync(checkout.path("go-version"), "go1.27.0");
      await checkout.install();
      expect(builds()).toEqual([...allBuilt, ...proxmoxBuilt, ...standInsBuilt, ...allBuilt]);
    });

    test("two runs at once build each program once", async () => {
      const runs = await Promise.all([checkout.install(), checkout.install()]);
      expect(runs.map(({ code }) => code)).toEqual([0, 0]);
      expect(builds()).toEqual(allBuilt);
    });

    test("an interrupted run leaves nothing that the next one takes for done", async () => {
      writeFileSync(checkout.path("go-hangs"), "");
      let interrupt: () => void = () => undefined;
      const running = checkout.install((way) => (interrupt = way));
      await until(() => builds().includes("begin pulumi"));
      interrupt();
      expect((await running).code).not.toBe(0);
      expect(checkout.has("root/.lab/engine/facts.sh")).toBe(false);

      await checkout.bash("rm ../go-hangs");
      expect(await checkout.install()).toMatchObject({ code: 0 });
      expect(builds()).toEqual(["begin pulumi", ...allBuilt]);
      const left = readdirSync(checkout.path("cache/engine")).filter((name) => name.endsWith(".partial"));
      expect(left).toEqual([]);
    });

    test("a build that fails shows Go's last lines and where the rest is", async () => {
      writeFileSync(checkout.path("go-fails"), "");
      const { code, stderr } = await checkout.install();
      expect(code).toBe(1);
      expect(stderr).toContain("package-a: no space left\n");
      expect(stderr).toContain(`all of its output is in ${checkout.path("cache/engine/pulumi.log")}`);
      expect(checkout.has("root/.lab/engine/facts.sh")).toBe(false);
    });

    test("a Go that is too old is named, with the version that is needed", async () => {
      writeFileSync(checkout.path("go-version"), "go1.19.8");
      const { code, stderr } = await checkout.install();
      expect(code).toBe(1);
      expect(stderr).toMatch(/Go 1\.26\S* or newer is needed .*bin\/go is 1\.19\.8\./);
    });
  });

  describe("refuses versions that do not fit", () => {
    test.each([
      [
        "a version range",
        "root/package.json",
        (text: string) => text.replace(`"@pulumi/command": "`, `"@pulumi/command": "^`),
        `@pulumi/command is "^${COMMAND}"; it must be one exact version`,
      ],
      [
        "another version than the installed one",
        "root/package.json",
        (text: string) => text.replace(`"@pulumi/pulumi": "${PULUMI}"`, `"@pulumi/pulumi": "3.0.1"`),
        `npm package @pulumi/pulumi: installed is ${PULUMI}, package.json pins 3.0.1; run: npm ci`,
      ],
      [
        "a CLI of another release than the SDK",
        "root/engine/pulumi-cli/go.mod",
        (text: string) => text.replace(`pulumi/pkg/v3 v${PULUMI}`, "pulumi/pkg/v3 v3.0.1"),
        `requires github.com/pulumi/pulumi/pkg/v3 v3.0.1, package.json pins @pulumi/pulumi ${PULUMI}`,
      ],
      [
        "stand-ins with the protocol of another release than the SDK",
        "root/engine/stand-ins/go.mod",
        (text: string) => text.replace(`pulumi/sdk/v3 v${PULUMI}`, "pulumi/sdk/v3 v3.0.1"),
        `; run there: go get github.com/pulumi/pulumi/sdk/v3@v${PULUMI} && go mod tidy`,
      ],
    ])("%s", async (_, file, change, message) => {
      checkout.edit(file, change);
      const { code, stderr } = await checkout.install();
      expect(code).toBe(1);
      expect(stderr).toContain(message);
    });

    test("an argument", async () => {
      expect((await checkout.bash("engine/install --now")).stderr).toContain("unknown argument: --now");
    });
  });
});

describe("engine/env.sh", () => {
  let checkout: Checkout;

  beforeEach(() => {
    checkout = new Checkout();
    checkout.script("bin/go", FAKE_GO);
    checkout.script("bin/pulumi", "exit 1");
  });
  afterEach(() => checkout.remove());

  test("without an engine it fails and says what to run", async () => {
    const { code, stderr } = await checkout.bash("set -eu; . engine/env.sh; echo not reached");
    expect(code).toBe(1);
    expect(stderr).toContain(`run: ${checkout.path("root/engine/install")}`);
  });

  test("sourced twice it is as sourced once, and leaves no names of its own", async () => {
    await checkout.install();
    const { code, stdout } = await checkout.bash(
      "set -eu; export SSH_AUTH_SOCK=/tmp/agent; . engine/env.sh; . engine/env.sh; set",
    );
    expect(code).toBe(0);
    const bin = checkout.path("root/.lab/engine/bin");
    expect(stdout.split(bin)).toHaveLength(2);
    expect(stdout).not.toMatch(/^(SSH_AUTH_SOCK|ENGINE_\w+|_engine_root|_lab_directory)=/m);
    expect(stdout).toContain("PULUMI_CONFIG_PASSPHRASE=lab\n");
  });

  test("another LAB_DIR has another state and another Pulumi home", async () => {
    const elsewhere = checkout.path("elsewhere");
    const command = `export LAB_DIR=${elsewhere}; engine/install && . engine/env.sh && env`;
    const { stdout } = await checkout.bash(command);
    expect(stdout).toContain(`PULUMI_BACKEND_URL=file://${elsewhere}/pulumi-state\n`);
    expect(stdout).toContain(`PULUMI_HOME=${elsewhere}/pulumi-home\n`);
    expect(checkout.has("root/.lab")).toBe(false);
  });
});
