import { explainRule, RULE_IDS, type Explanation } from "../catalog/explain";
import { nearest } from "../config/suggest";
import { EXIT, UsageError, type ExitCode } from "./exit-codes";

function text(rule: Explanation): string {
  const cases = rule.cases.map(({ builds, severity, setting, message, fix }) =>
    [
      `  ${severity} with SGLang ${builds} (${setting})`,
      ...(message === undefined ? [] : [`    ${message}`]),
      ...(fix === undefined ? [] : [`    fix: ${fix}`]),
    ].join("\n"),
  );
  return [`${rule.id}: ${rule.subject}`, "", cases.join("\n\n"), "", `evidence: ${rule.evidence}`].join("\n");
}

/**
 * `./stack explain RULE [--json]`: what a rule of the catalog says, for which releases, and where it comes from.
 *
 * @throws UsageError for an id that no rule has
 */
export function explain(id: string, options: { json?: boolean }): ExitCode {
  const rule = explainRule(id);
  if (rule === undefined) {
    const suggestion = nearest(id, RULE_IDS);
    throw new UsageError(
      `there is no rule "${id}"${suggestion === undefined ? "" : `; did you mean ${suggestion}?`} (rules: ${RULE_IDS.join(" ")})`,
    );
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(rule, null, 2)}\n` : `${text(rule)}\n`);
  return EXIT.fine;
}
