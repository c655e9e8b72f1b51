import { readFileSync } from "node:fs";
import path from "node:path";
import { isScalar, parseDocument, type Document } from "yaml";
import type { Written } from "./issues";
import { ConfigurationError, type Problem } from "./problems";
import { NAMESPACE } from "./schema";
import { listed, nearest } from "./suggest";
import { visible, visibleLines } from "./visible";

export interface StackFile {
  /** File name, for messages. */
  readonly source: string;
  /** Values under `config:` by their full key. */
  readonly raw: Record<string, unknown>;
  readonly problems: Problem[];
  /** Text of a plain value as it stands in the file. */
  readonly written: Written;
}

/** Keys of a stack file that are Pulumi's own. */
const PULUMI_KEYS = ["config", "secretsprovider", "encryptedkey", "encryptionsalt", "environment"];

/**
 * What the text says, and its document for what stands where.
 *
 * @throws Error for what is no YAML, or only pretends to be: aliases that grow without end, brackets without end
 */
function parsed(text: string): { document: Document; content: unknown } {
  const document = parseDocument(text, { prettyErrors: true });
  const [syntax] = document.errors;
  if (syntax !== undefined) throw syntax;
  return { document, content: document.toJS() ?? {} };
}

function refuse(source: string, message: string, fix: string): never {
  const problem: Problem = { id: "stack-file", severity: "error", path: "", message, fix };
  throw new ConfigurationError(source, [problem]);
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fileKeyProblems(content: Record<string, unknown>): Problem[] {
  return Object.keys(content)
    .filter((key) => !PULUMI_KEYS.includes(key))
    .map((key) => {
      const suggestion = nearest(key, PULUMI_KEYS);
      const ours = key.startsWith(`${NAMESPACE}:`);
      return {
        id: "unknown-key",
        severity: "error",
        path: visible(key),
        message: `no such key in a stack file; allowed: ${listed(PULUMI_KEYS)}`,
        fix: ours
          ? "indent it under config:"
          : suggestion === undefined
            ? "take the key out"
            : `did you mean ${suggestion}?`,
      };
    });
}

function writtenIn(document: Document): Written {
  return (segments) => {
    const [key, ...rest] = segments;
    const node = document.getIn(["config", `${NAMESPACE}:${String(key)}`, ...rest], true);
    return isScalar(node) ? node.source : undefined;
  };
}

/**
 * Reads a stack file.
 *
 * @throws ConfigurationError when the file cannot be read or is no YAML mapping
 */
export function readStackFile(file: string): StackFile {
  const source = visible(path.basename(file));
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refuse(
      source,
      `cannot be read: ${reason}`,
      "name a stack of this folder, or the path of a stack file",
    );
  }
  let document: Document;
  let content: unknown;
  try {
    ({ document, content } = parsed(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    return refuse(
      source,
      `is no valid YAML: ${visibleLines(reason)}`,
      "correct the line; Pulumi.example.yaml shows every field",
    );
  }
  if (!isMapping(content))
    return refuse(source, "must be a mapping with the key config", "see Pulumi.example.yaml");
  const config = content["config"] ?? {};
  if (!isMapping(config))
    return refuse(source, "config must be a mapping of keys", "see Pulumi.example.yaml");
  return { source, raw: config, problems: fileKeyProblems(content), written: writtenIn(document) };
}
