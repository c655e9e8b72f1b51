import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { PROJECT_DIRECTORY } from "../../../config/load";

export interface WorkflowStep {
  name?: string;
  id?: string;
  if?: string;
  uses?: string;
  run?: string;
  env?: Record<string, string>;
  with?: Record<string, unknown>;
}

export interface Job {
  needs?: string | string[];
  if?: string;
  permissions?: Record<string, string>;
  environment?: string;
  env?: Record<string, string>;
  "timeout-minutes"?: number;
  steps: WorkflowStep[];
}

export interface Workflow {
  on: Record<string, unknown>;
  permissions?: unknown;
  concurrency?: unknown;
  jobs: Record<string, Job>;
}

const FOLDER = path.join(PROJECT_DIRECTORY, ".github/workflows");

export const WORKFLOWS = readdirSync(FOLDER);

export function workflowText(file: string): string {
  return readFileSync(path.join(FOLDER, file), "utf8");
}

export function workflow(file: string): Workflow {
  return parse(workflowText(file)) as Workflow;
}

/** Fills in `${{ … }}` from a table. An expression that is not in it is an error: nobody has tried it. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{\{\s*(.+?)\s*\}\}/g, (_, expression: string) => {
    const value = values[expression];
    if (value === undefined) throw new Error(`no value for the expression ${expression}`);
    return value;
  });
}
