/** A rule in words, for `./stack explain RULE`. */
import { PACKAGE_CONSTRAINTS } from "./builds";
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
    /** Where the finding points; several are joined. */
    readonly setting: string;
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
    setting: typeof setting === "string" ? setting : "the setting behind the argument",
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof fix === "string" ? { fix } : {}),
  };
}

function explanation<F>(rule: Rule<F>): Explanation {
  const { id, subject, evidence, cases } = rule;
  return { id, subject, evidence, cases: cases.map(explained) };
}

/** What is checked outside the rules: the lock beside the release's pins, and the age of the catalog. */
const CHECKS: readonly Explanation[] = [
  {
    id: "P1",
    subject: "a lock that does not keep the release's own pins",
    evidence: "metadata of the release's wheel (catalog/releases)",
    cases: [{ builds: "all releases", severity: "warning", setting: "environment" }],
  },
  ...PACKAGE_CONSTRAINTS.map(({ id, when, package: name, versions, consequence, severity, evidence }) => ({
    id,
    subject: `${name} other than ${versions} beside ${when.package}${when.versions}`,
    evidence,
    cases: [
      {
        builds: "all releases",
        severity,
        setting: "environment",
        message: consequence,
        fix: `lock ${name}${versions}`,
      },
    ],
  })),
  {
    id: "release-newer",
    subject: "a release that is newer than the catalog",
    evidence: "catalog/releases",
    cases: [{ builds: "all releases", severity: "warning", setting: "release" }],
  },
];

/** Every rule's id, in the order of the files. */
export const RULE_IDS: readonly string[] = [...SERVICE_RULES, ...HOST_RULES, ...CHECKS].map(({ id }) => id);

/** The rule of that id (upper or lower case), or undefined. */
export function explainRule(id: string): Explanation | undefined {
  const same = (rule: { readonly id: string }) => rule.id.toLowerCase() === id.toLowerCase();
  const service = SERVICE_RULES.find(same);
  if (service !== undefined) return explanation(service);
  const host = HOST_RULES.find(same);
  return host === undefined ? CHECKS.find(same) : explanation(host);
}
