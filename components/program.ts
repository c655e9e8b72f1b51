import * as pulumi from "@pulumi/pulumi";

import { inspectStack, PROJECT_DIRECTORY, refuseIncomplete } from "../config/load";
import { ConfigurationError, formatProblem, formatProblems, type Problem } from "../config/problems";
import type { StackConfig } from "../config/schema";
import { planStack, type StackPlan } from "../plan/stack";
import type { ApiCredentials } from "./gpu-container";
import type { StepContext } from "./remote-step";

/** What the program is made of, read once. */
export interface Program {
  readonly config: StackConfig;
  readonly plan: StackPlan;
  readonly context: StepContext;
  readonly credentials: ApiCredentials;
}

/** Ends the program with a message and no stack trace. */
function refuse(message: string): never {
  throw new pulumi.RunError(message);
}

/**
 * The stack's configuration and plan.
 *
 * @throws RunError naming every problem at once; for an `up`, also what was never recorded
 */
export function loadProgram(): Program {
  const source = `Pulumi.${pulumi.getStack()}.yaml`;
  const inspection = inspectStack(pulumi.runtime.allConfig(), { source });
  const { config, problems } = inspection;
  if (config === undefined) refuse(formatProblems(source, problems));
  const plan = planStack(config, PROJECT_DIRECTORY);
  const findings: Problem[] = [...problems, ...plan.findings];
  const errors = findings.filter(({ severity }) => severity === "error");
  if (errors.length > 0) refuse(formatProblems(source, errors));
  for (const problem of findings.filter(({ severity }) => severity === "warning")) {
    void pulumi.log.warn(`[${problem.id}] ${formatProblem(problem)}`);
  }
  if (!pulumi.runtime.isDryRun()) {
    try {
      refuseIncomplete(inspection);
    } catch (error) {
      if (error instanceof ConfigurationError) refuse(error.message);
      throw error;
    }
  }

  const secrets = new pulumi.Config();
  const { host } = config;
  return {
    config,
    plan,
    context: {
      connection: {
        host: host.address,
        port: host.sshPort,
        hostKey: host.hostKey === "insecure" ? undefined : host.hostKey,
        privateKey: secrets.getSecret("sshPrivateKey"),
      },
      secrets: {
        ...secretEntry(secrets, "huggingFaceToken"),
        ...secretEntry(secrets, "serviceApiKey"),
      },
    },
    credentials: { apiToken: secrets.getSecret("apiToken"), apiPassword: secrets.getSecret("apiPassword") },
  };
}

function secretEntry(config: pulumi.Config, name: "huggingFaceToken" | "serviceApiKey") {
  const value = config.getSecret(name);
  return value === undefined ? {} : { [name]: value };
}

/** An entry that configuration checks have proven to exist. */
export function entry<T>(entries: Readonly<Record<string, T>>, name: string): T {
  const found = entries[name];
  if (found === undefined) throw new Error(`no entry ${name}: the configuration was not checked`);
  return found;
}
