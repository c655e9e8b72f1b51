import { readFileSync } from "node:fs";
import { join } from "node:path";

import { readEnvironmentFolder } from "../config/environment-folder";
import { UNKNOWN, type EnvironmentConfig, type StackConfig } from "../config/schema";
import { scriptText, shortDigest } from "./script";
import { shareEnvironments } from "./shared-environments";
import { inContainer, step, type Step } from "./step";
import { wheelDigests } from "./wheel-steps";
import { fileList, filesOfLock, uvFiles } from "./wheelhouse-steps";

export interface EnvironmentPlan {
  readonly name: string;
  readonly container: string;
  /** Content address: lock, uv, interpreter, wheels built from source and smoke test decide it. */
  readonly digest: string;
  /** The link that services use. */
  readonly path: string;
  /** The folder that the link must point to. */
  readonly target: string;
  readonly step: Step;
  /** Copies it to the host's wheelhouse for other containers, where some have the same environment. */
  readonly share?: Step;
  /** Name of the environment whose share it links to instead of building. */
  readonly sharedFrom?: string;
}

const ROOT = "/opt/proxmox-gpu-stack/environments";

function planEnvironment(
  config: StackConfig,
  name: string,
  environment: EnvironmentConfig,
  projectDirectory: string,
): EnvironmentPlan {
  const container = config.containers[environment.container];
  if (!container) throw new Error(`environment ${name} names an unknown container`);
  const folder = readEnvironmentFolder(environment.lock, projectDirectory);
  const uv = readFileSync(join(projectDirectory, "environments", "uv.lock.txt"), "utf8").replace(/\n+$/, "");
  // A lock that nobody has made yet lets a preview pass; the configuration's checks refuse `up`.
  const requirements = folder.lock?.text.replace(/\n+$/, "");
  const wheels = wheelDigests(environment.lock, projectDirectory, {
    python: environment.python,
    toolkit: environment.toolkit === undefined ? undefined : config.toolkits[environment.toolkit],
  });
  const smokeTest = JSON.stringify(folder.smokeTest);
  const digest =
    requirements === undefined
      ? UNKNOWN
      : shortDigest(
          requirements,
          uv,
          environment.python,
          folder.python?.sha256 ?? "",
          wheels.join(","),
          smokeTest,
        );
  const texts = {
    requirements: requirements ?? "",
    "uv-wheel": fileList(uvFiles(projectDirectory)),
    "package_index.py": scriptText("tools/package_index.py"),
    "smoke-test": smokeTest,
    "ml-env-build": scriptText("tools/ml-env-build"),
    "ml-env-smoke-test.py": scriptText("tools/ml-env-smoke-test.py"),
    ...(folder.smokeTest.architectures.length === 0
      ? {}
      : { "cuda-architectures.py": scriptText("tools/cuda-architectures.py") }),
  };
  return {
    name,
    container: environment.container,
    digest,
    path: environment.path,
    target: `${ROOT}/${name}/${digest}`,
    step: step({
      name: `${name}-environment`,
      target: inContainer(container.vmId),
      script: "container/ml-env",
      args: {
        name,
        path: environment.path,
        digest,
        lock: environment.lock,
        python: environment.python,
        ...(folder.python === undefined
          ? {}
          : { interpreter: `${folder.python.version}:${folder.python.sha256}:${folder.python.url}` }),
        ...(folder.systemPackages.length === 0 ? {} : { packages: folder.systemPackages.join(",") }),
        ...(wheels.length === 0 ? {} : { wheels: wheels.join(",") }),
        index: environment.index ?? "",
        keep: String(environment.keep),
      },
      texts:
        config.wheelhouse === undefined
          ? texts
          : {
              ...texts,
              files: fileList(filesOfLock(environment.lock, projectDirectory)),
            },
      timeoutMinutes: 300,
      summary: `Python ${folder.python?.version ?? environment.python} environment from lock ${environment.lock}, built aside, smoke-tested, switched`,
    }),
  };
}

export function planEnvironments(config: StackConfig, projectDirectory: string): EnvironmentPlan[] {
  const plans = Object.entries(config.environments).map(([name, environment]) =>
    planEnvironment(config, name, environment, projectDirectory),
  );
  return shareEnvironments(config, plans);
}
