/** What a plan renders, read back by those who will read it: bash, systemd's rules, YAML, JSON, Proxmox VE's format. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { loadRelease, readArguments } from "../../catalog";
import { inspectStack, PROJECT_DIRECTORY } from "../../config/load";
import type { StackConfig } from "../../config/schema";
import { renderedCommands } from "../../plan/render/steps";
import { renderStack } from "../../plan/render/stack";
import { stepCommand, stepDigest, stepInput } from "../../plan/script";
import { allSteps, planStack, type StackPlan } from "../../plan/stack";
import { servicePaths } from "../../plan/unit/paths";
import { holds } from "./runs";
import { run, wordsAfterDashes } from "./sandbox";
import { handedOver, projectWithLock, rightStacks, type Keys } from "./stack-documents";
import { anyText, encoded } from "./strings";
import { argumentsOf, settingsOf, variablesOf } from "./systemd-syntax";

const project = projectWithLock();

function planned(keys: Keys): { config: StackConfig; plan: StackPlan } {
  const { config } = inspectStack(handedOver(keys), {
    source: "Pulumi.property.yaml",
    projectDirectory: project,
  });
  if (config === undefined) throw new Error("a right stack file was refused: see configuration.test.ts");
  return { config, plan: planStack(config, project) };
}

test("the line of a step reaches its script word for word, and no shell runs anything of it", () => {
  holds(rightStacks, 12, (keys) => {
    const { plan } = planned(keys);
    const steps = allSteps(plan);
    const expected = steps.map((step) => [
      step.name,
      ...Object.entries({ ...step.args, script: stepDigest(step) })
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${name}=${value}`),
    ]);
    expect(wordsAfterDashes(steps.map((step) => stepCommand(step)))).toEqual(expected);
    for (const step of steps) expect(Buffer.byteLength(stepCommand(step))).toBeLessThan(128 * 1024);
  });
});

test("texts and secrets of a step arrive as they are on its standard input, which is sound bash", () => {
  const secrets = fc.record({ huggingFaceToken: anyText, serviceApiKey: anyText }).map((values) =>
    // A shell has no NUL; what a secret may hold is checked by config/secrets.ts.
    Object.fromEntries(
      Object.entries(values).map(([name, text]) => [name, encoded(text.replaceAll("\0", ""))]),
    ),
  );
  holds(fc.tuple(rightStacks, secrets), 3, ([keys, values]) => {
    for (const step of allSteps(planned(keys).plan)) {
      const input = stepInput(step, values);
      const call = 'step_main "$@" </dev/null\n';
      expect(input.endsWith(call)).toBe(true);
      const dump = `for name in "\${!FILES[@]}"; do printf '%s\\0' "file $name" "\${FILES[$name]}"; done
for name in "\${!SECRETS[@]}"; do printf '%s\\0' "secret $name" "\${SECRETS[$name]}"; done\n`;
      const words = run(input.slice(0, -call.length) + dump);
      const found = Object.fromEntries(
        words.flatMap((name, i) => (i % 2 === 0 ? [[name, words[i + 1]]] : [])),
      );
      expect(found).toEqual({
        ...Object.fromEntries(Object.entries(step.texts).map(([name, text]) => [`file ${name}`, text])),
        ...Object.fromEntries(Object.entries(values).map(([name, text]) => [`secret ${name}`, text])),
      });
    }
  });
});

test("a unit starts the planned arguments, and the release's own parser finds the names in them", () => {
  holds(rightStacks, 40, (keys) => {
    const { plan } = planned(keys);
    for (const { name, service, plan: own, step } of plan.services) {
      const settings = settingsOf(step.texts[servicePaths(name).unit] ?? "");
      const one = (key: string): string => {
        const values = settings.filter((setting) => setting.key === key);
        expect(values).toHaveLength(1);
        return values[0]?.value ?? "";
      };
      expect(new Set(settings.map(({ section }) => section))).toEqual(
        new Set(["Unit", "Service", "Install"]),
      );
      const [python, ...words] = argumentsOf(one("ExecStart"));
      expect(python).toMatch(/\/bin\/python3$/);
      expect(words).toEqual(["-m", "sglang.launch_server", ...own.args]);
      const title = `SGLang ${service.release ?? ""}: ${service.servedModelName}`;
      // A backslash at the end is doubled, and shown so.
      expect([title, `${title}\\`]).toContain(one("Description").replaceAll("%%", "%"));
      argumentsOf(one("ExecStartPre"));
      const { values } = readArguments(loadRelease("0.5.11"), own.args);
      expect(values.get("--served-model-name")).toEqual([service.servedModelName]);
      expect(values.get("--port")).toEqual([String(service.port)]);
      expect(own.args.slice(own.args.length - service.extraArgs.length)).toEqual(service.extraArgs);
    }
  });
});

test("an environment file gives the variables back, to systemd's rules and to a shell", () => {
  holds(rightStacks, 15, (keys) => {
    for (const { name, service, step } of planned(keys).plan.services) {
      const text = step.texts[servicePaths(name).environmentFile] ?? "";
      const variables = variablesOf(text);
      expect(variables).toMatchObject(service.env);
      // Names that mean something to bash itself.
      const names = Object.keys(variables).filter(
        (variable) => !/^(_|E?UID|PPID|BASH.*|SHELLOPTS)$/.test(variable),
      );
      const show = names.map((variable) => `printf '%s\\0' "\${${variable}}"`);
      expect(run(`${text}\n${show.join("\n")}\n`)).toEqual(names.map((variable) => variables[variable]));
    }
  });
});

test("specifications, scrapes, alerts and dashboards are what they say they are", () => {
  holds(rightStacks, 15, (keys) => {
    const { config, plan } = planned(keys);
    const files = renderStack(config, plan);
    for (const { name, service, plan: own } of plan.services) {
      expect(JSON.parse(files[`specifications/sglang-${name}.json`] ?? "")).toMatchObject({
        service: name,
        servedModelName: service.servedModelName,
        modelPath: service.modelPath,
        expectedServerInfo: own.expectedServerInfo,
      });
    }
    for (const [file, text] of Object.entries(files)) {
      if (file.endsWith(".json")) JSON.parse(text);
      if (file.endsWith(".yaml")) expect(typeof parse(text)).toBe("object");
    }
    const commands = renderedCommands(files["steps.md"] ?? "");
    for (const step of allSteps(plan)) expect(commands.get(step.name)).toBe(stepCommand(step));
  });
});

const READ_CONFIGURATIONS = `
import json, sys, urllib.parse
from labpve import property_string
found = []
for text in json.load(sys.stdin):
    options = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, value = line.split(": ", 1)
        if name.startswith(("net", "mp", "rootfs")):
            value = property_string.parse(value, "volume")
        options[name] = urllib.parse.unquote(value) if name == "description" else value
    found.append(options)
json.dump(found, sys.stdout)
`;

test("a container's configuration gives the plan back to Proxmox VE's own format", () => {
  holds(fc.array(rightStacks, { minLength: 15, maxLength: 15 }), 1, (stacks) => {
    const plans = stacks.flatMap((keys) => {
      const { config, plan } = planned(keys);
      const files = renderStack(config, plan);
      return plan.containers.map((container) => ({
        settings: container.settings,
        text: files[`containers/${container.settings.vmId}.conf`] ?? "",
      }));
    });
    const { stdout, stderr } = spawnSync("python3", ["-c", READ_CONFIGURATIONS], {
      input: JSON.stringify(plans.map(({ text }) => text)),
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: path.join(PROJECT_DIRECTORY, "lab", "pve") },
    });
    expect(stderr).toBe("");
    const found = JSON.parse(stdout) as Record<string, unknown>[];
    expect(found).toHaveLength(plans.length);
    for (const [index, { settings }] of plans.entries()) {
      expect(found[index]).toMatchObject({
        hostname: settings.hostname,
        cores: String(settings.cores),
        net0: { name: "eth0", bridge: settings.network.bridge, ip: settings.network.address },
        ...(settings.description === undefined ? {} : { description: settings.description }),
        ...Object.fromEntries(
          settings.mounts.map((mount, number) => [`mp${number}`, { volume: mount.source, mp: mount.target }]),
        ),
      });
    }
  });
});
