import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { run } from "../../cli/main";
import { PROJECT_DIRECTORY } from "../../config/load";
import { outcomeOf } from "./captured-output";

/** Runs a command line in this process and catches what it prints. */
const stack = (...words: string[]) => outcomeOf(() => run(words));

function temporary(): string {
  return mkdtempSync(path.join(tmpdir(), "cli-"));
}

/** A copy of the lab's stack with a change, away from the project. */
function changedLab(change: (text: string) => string): string {
  const file = path.join(temporary(), "Pulumi.mine.yaml");
  writeFileSync(file, change(readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.lab.yaml"), "utf8")));
  return file;
}

interface Printed {
  problems: { id: string; severity: string; path: string; message: string; fix: string; evidence: string }[];
}

describe("check", () => {
  test.each(["kpro5", "kpro6", "lab", "example"])(
    "%s has no error, so that it previews without its host",
    async (name) => {
      const { code, stdout } = await stack("check", name);
      expect(stdout).toMatch(new RegExp(`^Pulumi\\.${name}\\.yaml: 0 errors, `, "m"));
      expect(code).toBe(0);
    },
  );

  test("says what must be filled in before an `up`", async () => {
    const { stdout } = await stack("check", "kpro5");
    expect(stdout).toContain("proxmox-gpu-stack:gpus.a6000-0.uuid is unknown");
    expect(stdout).toContain("ssh root@10.1.2.5 nvidia-smi -L");
    expect(stdout).toMatch(/`up` is refused until \d+ of them are solved/);
  });

  test("takes the path of a stack file and exits 1 on an error", async () => {
    const { code, stdout } = await stack(
      "check",
      changedLab((text) => text.replace("vmId: 129", "vmId: 12")),
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Pulumi\.mine\.yaml: \d+ problems/);
    expect(stdout).toContain("containers.ml.vmId is 12: must be a number of at least 100");
  });

  test("shows the rules that fire: speculation without an extra buffer is refused", async () => {
    const file = changedLab((text) =>
      text.replace("mambaScheduler: extra_buffer", "mambaScheduler: no_buffer"),
    );
    const { code, stdout } = await stack("check", file, "--json");
    const { problems } = JSON.parse(stdout) as Printed;
    expect(code).toBe(1);
    expect(problems.find((problem) => problem.id === "R7")).toMatchObject({
      severity: "error",
      path: "proxmox-gpu-stack:services.qwen.mambaScheduler",
    });
  });

  test("shows the rules of the host: Blackwell with proprietary modules is refused", async () => {
    const file = path.join(temporary(), "Pulumi.mine.yaml");
    const text = readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.kpro6.yaml"), "utf8");
    writeFileSync(file, text.replace("modules: open", "modules: proprietary"));
    const { code, stdout } = await stack("check", file, "--json");
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Printed).problems.map((problem) => problem.id)).toContain("D1");
  });

  test("prints every field of every problem as JSON, errors first", async () => {
    const file = changedLab((text) =>
      text.replace("vmId: 129", "vmId: 12").replace("node: pve1", "node: pve1\n    colour: red"),
    );
    const { problems } = JSON.parse((await stack("check", file, "--json")).stdout) as Printed;
    for (const problem of problems) {
      for (const key of ["id", "severity", "path", "message", "fix", "evidence"] as const)
        expect(problem[key]).not.toBe("");
    }
    expect(problems.slice(0, 2).map((problem) => problem.severity)).toEqual(["error", "error"]);
  });

  test("reports a file that is no YAML as a problem", async () => {
    const { code, stdout } = await stack(
      "check",
      changedLab(() => "config: ["),
      "--json",
    );
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Printed).problems).toHaveLength(1);
  });

  test("prints no secret", async () => {
    const file = changedLab((text) => text.replace("apiPassword: lab-root-pw", "apiToken: hidden-token"));
    for (const options of [[], ["--json"]]) {
      const { stdout, stderr } = await stack("check", file, ...options);
      expect(stdout + stderr).not.toContain("hidden-token");
      expect(stdout + stderr).not.toContain("b3BlbnNzaC1rZXk");
    }
  });
});

describe("render", () => {
  test("writes what goes to machines as files, and nothing else", async () => {
    const out = path.join(temporary(), "new/rendered");
    const { code } = await stack("render", "kpro6", "--out", out);
    expect(code).toBe(0);
    const files = readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(out, path.join(entry.parentPath, entry.name)));
    expect(files.sort()).toEqual([
      "containers/129.conf",
      "env/sglang-kimi.env",
      "env/sglang-qwen.env",
      "specifications/sglang-kimi.json",
      "specifications/sglang-qwen.json",
      "steps.md",
      "topology.md",
      "units/sglang-kimi-probe.service",
      "units/sglang-kimi-probe.timer",
      "units/sglang-kimi.service",
      "units/sglang-qwen-probe.service",
      "units/sglang-qwen-probe.timer",
      "units/sglang-qwen.service",
    ]);
  });

  test("lists every step with its command line, in the order of a first `up`", async () => {
    const out = path.join(temporary(), "rendered");
    await stack("render", "lab", "--out", out);
    const text = readFileSync(path.join(out, "steps.md"), "utf8");
    const order = [
      "driver-kernel",
      "driver-install",
      "driver-gpu-boot",
      "qwen36-snapshot",
      "ml-attach",
      "ml-env-environment",
      "qwen-service",
    ];
    const places = order.map((name) => text.indexOf(`| \`${name}\` |`));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(text).toMatch(/^pct exec 129 --keep-env 0 -- bash -s -- qwen-service /m);
  });

  test("holds no secret", async () => {
    const out = path.join(temporary(), "rendered");
    await stack("render", "lab", "--out", out);
    for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(path.join(entry.parentPath, entry.name), "utf8");
      expect(text).not.toContain("lab-root-pw");
      expect(text).not.toContain("PRIVATE KEY");
    }
  });

  test("replaces an earlier rendering whole", async () => {
    const out = path.join(temporary(), "rendered");
    await stack("render", "kpro6", "--out", out);
    await stack("render", "lab", "--out", out);
    expect(existsSync(path.join(out, "units/sglang-kimi.service"))).toBe(false);
    expect(readdirSync(path.dirname(out))).toEqual(["rendered"]);
  });

  test("refuses a folder with other things in it", async () => {
    const out = temporary();
    writeFileSync(path.join(out, "thesis.txt"), "x");
    const { code, stderr } = await stack("render", "lab", "--out", out);
    expect(code).toBe(3);
    expect(stderr).toContain("thesis.txt");
    expect(readdirSync(out)).toEqual(["thesis.txt"]);
  });

  test("writes nothing for a stack with errors and says what is wrong", async () => {
    const out = path.join(temporary(), "rendered");
    const { code, stderr } = await stack(
      "render",
      changedLab((text) => text.replace("vmId: 129", "vmId: 12")),
      "--out",
      out,
    );
    expect(code).toBe(1);
    expect(stderr).toContain("containers.ml.vmId");
    expect(existsSync(out)).toBe(false);
  });
});

test("explain prints a rule with its evidence, in either case of letters", async () => {
  const { code, stdout } = await stack("explain", "r7");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^R7: /);
  expect(stdout).toContain("evidence: ");
  expect(JSON.parse((await stack("explain", "R7", "--json")).stdout)).toMatchObject({ id: "R7" });
});

test("judge tells a healthy answer from a loop", async () => {
  const answer = (content: string): string => {
    const file = path.join(temporary(), "answer.json");
    writeFileSync(
      file,
      JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }),
    );
    return file;
  };
  expect(
    (await stack("judge", answer("The sum of 2 and 2 is 4, because adding two to two gives four."))).code,
  ).toBe(0);
  const loop = await stack("judge", answer("lambda ".repeat(400)), "--json");
  expect(loop.code).toBe(1);
  expect((JSON.parse(loop.stdout) as { verdicts: { healthy: boolean }[] }).verdicts[0]?.healthy).toBe(false);
});

describe("doctor", () => {
  test("of a host whose address nobody recorded names what must be filled in, and asks no machine", async () => {
    const { code, stdout } = await stack("doctor", "kpro6");
    expect(code).toBe(1);
    expect(stdout).toContain("proxmox-gpu-stack:host.address");
    expect(stdout).not.toContain("│ ssh ");
    expect(stdout).toMatch(/Pulumi\.kpro6\.yaml: \d+ problems would stop an `up`/);
  });

  test("of a stack with an error names the error", async () => {
    const file = changedLab((text) => text.replace("vmId: 129", "vmId: 12"));
    const { code, stdout } = await stack("doctor", file, "--json");
    const { findings } = JSON.parse(stdout) as { findings: { id: string; state: string; message: string }[] };
    expect(code).toBe(1);
    expect(findings).toContainEqual(
      expect.objectContaining({
        id: "stack-file",
        state: "problem",
        message: expect.stringContaining("containers.ml.vmId") as string,
      }),
    );
  });
});

test.each([
  [["chek", "lab"], /unknown command 'chek'/],
  [["check"], /missing required argument 'STACK'/],
  [["render", "lab"], /render needs one of --out DIR and --diff BASE/],
  [["render", "lab", "--diff", "nonsense"], /"nonsense" is no revision that git knows here/],
  [["changed", "--", "--all"], /"--all" is no revision/],
  [["preview-report", "lab", "--json", "/nowhere.json"], /\/nowhere\.json cannot be read/],
  [["check", "lab", "--yaml"], /unknown option '--yaml'/],
  [["check", "kpro7"], /there is no stack "kpro7".*did you mean kpro5\?/],
  [["check", "/nowhere/Pulumi.x.yaml"], /there is no stack "\/nowhere/],
  [["explain", "R999"], /there is no rule "R999"/],
  [["inventory", "admin@192.0.2.5"], /looked at as root; write root@192\.0\.2\.5/],
  [["inventory", "root@-oProxyCommand=x"], /is no host: write root@ADDRESS/],
  [["inventory", "root@192.0.2.5", "--identity", "/nowhere/key"], /there is no such file/],
  [["inventory", "root@192.0.2.5", "--host-key", "AAAA"], /must be a public key without a comment/],
  [["doctor", "kpro7"], /there is no stack "kpro7"/],
  [["catalog", "add-release", "latest"], /"latest" is not a release number/],
])("%j is used wrongly", async (words, message) => {
  const { code, stderr } = await stack(...words);
  expect(stderr).toMatch(message);
  expect(code).toBe(words[0] === "catalog" ? 1 : 3);
});

test("recommend takes its three options and refuses to run without one", async () => {
  const { code, stdout } = await stack(
    "recommend",
    "--model",
    "qwen3.6-27b",
    "--gpu",
    "rtx-a6000",
    "--count",
    "2",
  );
  expect(code).toBe(0);
  expect(stdout).toContain("mambaScheduler: extra_buffer");
  const without = await stack("recommend", "--model", "qwen3.6-27b", "--gpu", "rtx-a6000");
  expect(without.code).toBe(3);
});

describe("recover", () => {
  test("names the services that the stack has, without asking a machine", async () => {
    const { code, stderr } = await stack("recover", "lab", "qwem");
    expect(code).toBe(3);
    expect(stderr).toContain('Pulumi.lab.yaml has no service "qwem": it has qwen; did you mean qwen?');
  });

  test("has nothing to do for a service that is not enabled", async () => {
    const file = changedLab((text) =>
      text.replace("servedModelName:", "enabled: false\n      servedModelName:"),
    );
    const { code, stderr } = await stack("recover", file, "qwen");
    expect(code).toBe(1);
    expect(stderr).toContain("services.qwen is not enabled");
  });

  test("exits 4 when the host cannot be reached", async () => {
    const file = changedLab((text) =>
      text.replace("address: 10.77.0.5", "address: 127.0.0.1\n    sshPort: 1"),
    );
    const { code, stderr } = await stack("recover", file, "qwen");
    expect(stderr).toContain("127.0.0.1 cannot be reached over SSH");
    expect(code).toBe(4);
  });
});

test("--help of every verb exits 0 and names its arguments", async () => {
  for (const verb of [
    "check",
    "render",
    "changed",
    "preview-report",
    "rehome",
    "inventory",
    "doctor",
    "status",
    "recommend",
    "recover",
    "explain",
    "judge",
    "describe-model",
    "pin",
    "drift",
    "rollback",
    "decommission",
    "adopt",
  ]) {
    const { code, stdout } = await stack(verb, "--help");
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: stack ${verb} `));
  }
});

describe("the executable", () => {
  const executable = path.join(PROJECT_DIRECTORY, "stack");

  test("works from another folder and through a link, and passes its exit code on", () => {
    const folder = temporary();
    mkdirSync(path.join(folder, "bin"));
    const link = path.join(folder, "bin/stack");
    spawnSync("ln", ["-s", executable, link]);
    const fine = spawnSync(link, ["check", "lab"], { cwd: folder, encoding: "utf8" });
    expect(fine.stderr).toBe("");
    expect(fine.status).toBe(0);
    expect(spawnSync(link, ["check", "nobody"], { cwd: folder }).status).toBe(3);
  });

  test("says what is missing when there is no Node.js", () => {
    const folder = temporary();
    for (const tool of ["cat", "dirname", "readlink", "sha256sum"])
      spawnSync("ln", ["-s", `/usr/bin/${tool}`, path.join(folder, tool)]);
    const { status, stderr } = spawnSync("/bin/bash", [executable, "check", "lab"], {
      env: { PATH: folder },
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toContain("Node.js 20 or newer is needed and not installed");
  });
});
