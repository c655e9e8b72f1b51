/** The state of a stack, kept aside before it is removed. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pulumi, PulumiError } from "../pulumi";
import { stackNameOf } from "../stack-secrets";

export interface Archive {
  /** Undefined when the backend has no such stack. */
  readonly path: string | undefined;
  /** What Pulumi protects from being deleted. */
  readonly protectedUrns: readonly string[];
}

interface State {
  readonly deployment?: {
    readonly resources?: readonly { readonly urn: string; readonly protect?: boolean }[];
  };
}

async function exported(file: string): Promise<string | undefined> {
  try {
    return await pulumi(file, ["stack", "export"]);
  } catch (error) {
    if (error instanceof PulumiError && /no stack named/.test(error.message)) return undefined;
    throw error;
  }
}

/**
 * Writes the state to `retired/<stack>-<time>.state.json` beside the stack file; only its owner reads it. Secrets in it
 * are encrypted as in the backend; `pulumi stack import` takes it back.
 */
export async function archiveState(file: string, time: Date): Promise<Archive> {
  const text = await exported(file);
  if (text === undefined) return { path: undefined, protectedUrns: [] };
  const folder = path.join(path.dirname(file), "retired");
  const stamp = time.toISOString().replace(/[:.]/g, "-");
  const target = path.join(folder, `${stackNameOf(file)}-${stamp}.state.json`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(target, text, { mode: 0o600, flag: "wx" });
  const resources = (JSON.parse(text) as State).deployment?.resources ?? [];
  return {
    path: target,
    protectedUrns: resources.filter(({ protect }) => protect === true).map(({ urn }) => urn),
  };
}
