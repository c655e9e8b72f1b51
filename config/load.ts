/**
 * From a stack's raw values to its configuration, or to one error with all problems.
 *
 * `inspectStack` never throws and is what `check` shows; `loadStackConfig` and `loadStackFile` are what programs use.
 */
import path from "node:path";
import { resolveChecksum } from "./checksum";
import { lockProblems } from "./lock-references";
import { nodeProblems } from "./node-references";
import { ConfigurationError, pathOf, type Problem } from "./problems";
import { referenceProblems, entriesOf, type View } from "./references";
import { resolveStack } from "./resolve";
import { retirementProblems } from "./retirement";
import { routerProblems } from "./router-references";
import { NAMESPACE, SECRETS, stackSchema, type StackConfig, type StackValues } from "./schema";
import { presentSecrets, secretProblems } from "./secrets";
import { pairProblems } from "./service-pairs";
import { serviceProblems } from "./service-references";
import { readStackFile, type StackFile } from "./stack-file";
import { listed, nearest } from "./suggest";
import { visible } from "./visible";
import { unknownPinProblems } from "./unknown-pins";
import { parseValues } from "./values";
import { wheelhouseProblems } from "./wheelhouse-references";
import { wheelProblems } from "./wheel-references";

/** The project: `environments/` and `file:` checksums are relative to it. */
export const PROJECT_DIRECTORY = path.resolve(__dirname, "..");

export interface Inspection {
  /** Where the values came from, for messages. */
  readonly source: string;
  /** The configuration; undefined when a problem is an error. */
  readonly config: StackConfig | undefined;
  /** Everything found, errors first. */
  readonly problems: readonly Problem[];
}

export interface LoadOptions {
  /** Name for messages. Default: "the stack's configuration". */
  readonly source?: string;
  /** Folder of the project. Default: the one this file belongs to. */
  readonly projectDirectory?: string;
}

const STRUCTURED = Object.keys(stackSchema.shape);

/** The project's own keys without their namespace; keys of other namespaces belong to others. */
function ownKeys(raw: Readonly<Record<string, unknown>>): {
  own: Record<string, unknown>;
  problems: Problem[];
} {
  const known = [...STRUCTURED, ...Object.keys(SECRETS)];
  const own: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [fullKey, value] of Object.entries(raw)) {
    const key = fullKey.startsWith(`${NAMESPACE}:`) ? fullKey.slice(NAMESPACE.length + 1) : fullKey;
    if (key.includes(":")) continue;
    if (key === fullKey && known.includes(key)) {
      problems.push({
        id: "unknown-key",
        severity: "error",
        path: key,
        message: "has no namespace",
        fix: `write ${NAMESPACE}:${key}`,
      });
    } else if (!known.includes(key)) {
      const suggestion = nearest(key, known);
      problems.push({
        id: "unknown-key",
        severity: "error",
        path: visible(fullKey),
        message: `no such key; allowed: ${listed(known)}`,
        fix: suggestion === undefined ? "take the key out" : `did you mean ${NAMESPACE}:${suggestion}?`,
      });
    }
    if (key !== fullKey || own[key] === undefined) own[key] = value;
  }
  return { own, problems };
}

/** Pulumi hands structured values over as JSON text; a stack file has them as they are. */
function structured(own: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    STRUCTURED.filter((key) => own[key] !== undefined).map((key) => {
      const value = own[key];
      if (typeof value !== "string") return [key, value];
      try {
        return [key, JSON.parse(value) as unknown];
      } catch {
        return [key, value]; // a plain text where a mapping belongs: the schema says so
      }
    }),
  );
}

/** Replaces `file:` checksums and fills versions into the addresses of installers. */
function withChecksums(view: View, projectDirectory: string): { problems: Problem[] } {
  const problems: Problem[] = [];
  const resolve = (
    holder: { url?: string; sha256?: string } | undefined,
    where: (string | number)[],
  ): void => {
    if (holder?.url === undefined || holder.sha256 === undefined) return;
    const path = pathOf(NAMESPACE, [...where, "sha256"]);
    const { sha256, problem } = resolveChecksum(holder.sha256, holder.url, path, projectDirectory);
    if (problem !== undefined) problems.push(problem);
    holder.sha256 = sha256;
  };
  const installer = view.driver?.installer;
  if (installer?.url !== undefined && view.driver?.version !== undefined) {
    installer.url = installer.url.replaceAll("{version}", view.driver.version);
    resolve(installer, ["driver", "installer"]);
  }
  for (const [name, toolkit] of entriesOf(view.toolkits)) {
    if (toolkit.installer?.url === undefined || toolkit.version === undefined) continue;
    toolkit.installer.url = toolkit.installer.url.replaceAll("{version}", toolkit.version);
    resolve(toolkit.installer, ["toolkits", name, "installer"]);
  }
  for (const [name, container] of entriesOf(view.containers)) {
    resolve(container.template, ["containers", name, "template"]);
  }
  return { problems };
}

const ORDER = { error: 0, warning: 1, info: 2 } as const;

function inspect(file: StackFile, fromFile: boolean, projectDirectory: string): Inspection {
  const { own, problems: keyProblems } = ownKeys(file.raw);
  const { problems: valueProblems, view } = parseValues(structured(own), file.written);
  const unknown = unknownPinProblems(view);
  const { problems: checksumProblems } = withChecksums(view, projectDirectory);
  const problems = [
    ...file.problems,
    ...keyProblems,
    ...valueProblems,
    ...checksumProblems,
    ...referenceProblems(view),
    ...lockProblems(view, projectDirectory),
    ...wheelhouseProblems(view, projectDirectory),
    ...wheelProblems(view, projectDirectory),
    ...serviceProblems(view, projectDirectory),
    ...pairProblems(view),
    ...nodeProblems(view),
    ...routerProblems(view, projectDirectory),
    ...secretProblems(own, fromFile),
    ...retirementProblems(view),
    ...unknown,
  ].sort((a, b) => ORDER[a.severity] - ORDER[b.severity]);
  const failed = problems.some((problem) => problem.severity === "error");
  return {
    source: file.source,
    problems,
    config: failed
      ? undefined
      : resolveStack(view as StackValues, file.source, presentSecrets(own), projectDirectory),
  };
}

/** Everything that is wrong with raw values, and the configuration if nothing is an error. */
export function inspectStack(raw: Readonly<Record<string, unknown>>, options: LoadOptions = {}): Inspection {
  const file = {
    source: options.source ?? "the stack's configuration",
    raw: { ...raw },
    problems: [],
    written: () => undefined,
  };
  return inspect(file, false, options.projectDirectory ?? PROJECT_DIRECTORY);
}

/**
 * As `inspectStack`, for a stack file.
 *
 * @throws ConfigurationError when the file cannot be read or is no YAML
 */
export function inspectStackFile(file: string, projectDirectory = PROJECT_DIRECTORY): Inspection {
  return inspect(readStackFile(file), true, projectDirectory);
}

function required({ source, config, problems }: Inspection): StackConfig {
  if (config === undefined) throw new ConfigurationError(source, problems);
  return config;
}

/**
 * The configuration from Pulumi's raw values (`pulumi.runtime.allConfig()`).
 *
 * @throws ConfigurationError naming every problem when one is an error
 */
export function loadStackConfig(
  raw: Readonly<Record<string, unknown>>,
  options: LoadOptions = {},
): StackConfig {
  return required(inspectStack(raw, options));
}

/**
 * The configuration from a stack file.
 *
 * @throws ConfigurationError naming every problem when one is an error
 */
export function loadStackFile(file: string, projectDirectory = PROJECT_DIRECTORY): StackConfig {
  return required(inspectStackFile(file, projectDirectory));
}

/**
 * Refuses an `up` of a stack with values that are not known yet.
 *
 * @throws ConfigurationError naming everything that must be filled in
 */
export function refuseIncomplete({ source, problems }: Pick<Inspection, "source" | "problems">): void {
  const blocking = problems.filter((problem) => problem.blocksUp === true);
  if (blocking.length > 0) throw new ConfigurationError(source, blocking);
}
