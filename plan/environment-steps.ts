import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { UNKNOWN, type StackConfig } from "../config/schema";
import { scriptText, shortDigest } from "./script";
import { inContainer, step, type Step } from "./step";

export interface EnvironmentPlan {
  readonly name: string;
  readonly container: string;
  /** Content address: lock, interpreter and uv decide it. */
  readonly digest: string;
  /** The link that services use. */
  readonly path: string;
  /** The folder that the link must point to. */
  readonly target: string;
  readonly step: Step;
}

const ROOT = "/opt/proxmox-gpu-stack/environments";

export function planEnvironments(config: StackConfig, projectDirectory: string): EnvironmentPlan[] {
  const text = (path: string) =>
    readFileSync(join(projectDirectory, "environments", path), "utf8").replace(/\n+$/, "");
  return Object.entries(config.environments).map(([name, environment]) => {
    const container = config.containers[environment.container];
    if (!container) throw new Error(`environment ${name} names an unknown container`);
    const lock = join(environment.lock, "requirements.lock");
    // A lock that nobody has made yet lets a preview pass; the configuration's checks refuse `up`.
    const locked = existsSync(join(projectDirectory, "environments", lock));
    const requirements = locked ? text(lock) : "";
    const uv = text("uv.lock.txt");
    const digest = locked ? shortDigest(requirements, uv, environment.python) : UNKNOWN;
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
          index: environment.index ?? "",
          imports: environment.imports.join(","),
          keep: String(environment.keep),
        },
        texts: { requirements, uv, "ml-env-build": scriptText("tools/ml-env-build") },
        timeoutMinutes: 300,
        summary: `Python ${environment.python} environment from lock ${environment.lock}, built aside, smoke-tested, switched`,
      }),
    };
  });
}
