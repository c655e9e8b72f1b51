/** A rule in words, for `./stack explain RULE`. */
import { HOST_RULES, SERVICE_RULES } from "./engine";
import type { Rule, RuleCase } from "./rule";
import type { Severity } from "./types";
import { describeRange } from "./versions";

/** A rule without its conditions: what a person or a JSON reader gets. */
export interface Explanation {
  readonly id: string;
  readonly subject: string;
  readonly evidence: string;
  readonly cases: readonly {
    readonly builds: string;
    readonly severity: Severity;
    readonly setting?: string;
    /** Absent where the text depends on the service. */
    readonly message?: string;
    readonly fix?: string;
  }[];
}

function explained<F>({
  builds,
  severity,
  setting,
  message,
  fix,
}: RuleCase<F>): Explanation["cases"][number] {
  return {
    builds: describeRange(builds),
    severity,
    ...(typeof setting === "string" ? { setting } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof fix === "string" ? { fix } : {}),
  };
}

function explanation<F>(rule: Rule<F>): Explanation {
  const { id, subject, evidence, cases } = rule;
  return { id, subject, evidence, cases: cases.map(explained) };
}

/** Every rule's id, in the order of the files. */
export const RULE_IDS: readonly string[] = [...SERVICE_RULES, ...HOST_RULES].map(({ id }) => id);

/** The rule of that id (upper or lower case), or undefined. */
export function explainRule(id: string): Explanation | undefined {
  const same = (rule: { readonly id: string }) => rule.id.toLowerCase() === id.toLowerCase();
  const service = SERVICE_RULES.find(same);
  if (service !== undefined) return explanation(service);
  const host = HOST_RULES.find(same);
  return host === undefined ? undefined : explanation(host);
}
