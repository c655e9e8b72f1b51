/** Evaluates the rules over plain facts. */
import { satisfies } from "@renovatebot/pep440";
import { PACKAGE_CONSTRAINTS } from "./builds";
import { NEWEST_RELEASE } from "./releases";
import type { Facts, HostFacts, Rule } from "./rule";
import { ARGUMENT_RULES } from "./rules/arguments";
import { ATTENTION_RULES } from "./rules/attention";
import { COMPILER_RULES } from "./rules/compiler";
import { HOST_RULES } from "./rules/host";
import { KEY_VALUE_CACHE_RULES } from "./rules/key-value-cache";
import { MODEL_RULES } from "./rules/model";
import { PACKAGE_RULES } from "./rules/packages";
import { PARALLEL_RULES } from "./rules/parallel";
import { QUANTIZATION_RULES } from "./rules/quantization";
import { RECURRENT_STATE_RULES } from "./rules/recurrent-state";
import { SPECULATION_RULES } from "./rules/speculation";
import type { Finding } from "./types";
import { inRange, isNewer, type Build } from "./versions";

/** All rules about services. */
export const SERVICE_RULES: readonly Rule[] = [
  ...ATTENTION_RULES,
  ...RECURRENT_STATE_RULES,
  ...SPECULATION_RULES,
  ...QUANTIZATION_RULES,
  ...KEY_VALUE_CACHE_RULES,
  ...MODEL_RULES,
  ...PARALLEL_RULES,
  ...PACKAGE_RULES,
  ...COMPILER_RULES,
  ...ARGUMENT_RULES,
];

export { HOST_RULES };

const ORDER = { error: 0, warning: 1, info: 2 };

/** Errors first, then by id (R2 before R10). */
function sorted(findings: Finding[]): Finding[] {
  return findings.sort(
    (a, b) => ORDER[a.severity] - ORDER[b.severity] || a.id.localeCompare(b.id, "en", { numeric: true }),
  );
}

function evaluate<F extends { readonly path: string }>(
  rules: readonly Rule<F>[],
  facts: F,
  build: Build | undefined,
): Finding[] {
  return rules.flatMap(({ id, cases, evidence }) =>
    cases
      .filter(({ builds, when }) => (build === undefined || inRange(build, builds)) && when(facts))
      .flatMap(({ each, severity, setting, message, fix }) =>
        (each?.(facts) ?? [""]).map((subject) => {
          const text = (value: typeof message) => (typeof value === "string" ? value : value(facts, subject));
          return {
            id,
            severity,
            path: `${facts.path}.${text(setting)}`,
            message: text(message),
            fix: text(fix),
            evidence,
          };
        }),
      ),
  );
}

/** Pins of the release that the lock does not keep, one finding for all; R32 speaks about the ones it refuses. */
function pinFindings(facts: Facts): Finding[] {
  const { packages, release } = facts;
  if (packages === undefined || facts.build.kind === "commit") return [];
  const differing = Object.entries(release.pins).flatMap(([name, pin]) => {
    const specifier = pin.replace(/^\[[^\]]*\]/, "");
    const version = packages[name]?.replace(/\+.*$/, "");
    const kept =
      version === undefined || specifier === "" || satisfies(version, specifier, { prereleases: true });
    return kept ? [] : [`${name} ${version} (${release.version} pins ${specifier})`];
  });
  if (differing.length === 0) return [];
  return [
    {
      id: "P1",
      severity: "warning",
      path: `${facts.path}.environment`,
      message: `the lock differs from the release's own pins: ${differing.join(", ")}`,
      fix: `lock the pins of sglang ${release.version}`,
      evidence: `metadata of the wheel sglang ${release.version}`,
    },
  ];
}

/** Combinations that break although all pins allow them. */
function constraintFindings(facts: Facts): Finding[] {
  return PACKAGE_CONSTRAINTS.flatMap((constraint) => {
    const cause = facts.packages?.[constraint.when.package];
    const version = facts.packages?.[constraint.package];
    if (cause === undefined || version === undefined) return [];
    const holds = satisfies(cause, constraint.when.versions) && !satisfies(version, constraint.versions);
    if (!holds) return [];
    return [
      {
        id: constraint.id,
        severity: constraint.severity,
        path: `${facts.path}.environment`,
        message: `${constraint.package} ${version} with ${constraint.when.package} ${cause}: ${constraint.consequence}`,
        fix: `lock ${constraint.package}${constraint.versions}`,
        evidence: constraint.evidence,
      },
    ];
  });
}

function knowledgeFindings({ build, path }: Facts): Finding[] {
  if (build.kind !== "release" || !isNewer(build.version, NEWEST_RELEASE)) return [];
  return [
    {
      id: "release-newer",
      severity: "warning",
      path: `${path}.release`,
      message: `${build.version} is newer than the catalog (${NEWEST_RELEASE}): its flags and known faults are taken to be those of ${NEWEST_RELEASE}`,
      fix: `./stack catalog add-release ${build.version}`,
      evidence: "catalog/releases",
    },
  ];
}

/** What the rules say about a service, errors first. */
export function evaluateRules(facts: Facts): Finding[] {
  return sorted([
    ...evaluate(SERVICE_RULES, facts, facts.build),
    ...pinFindings(facts),
    ...constraintFindings(facts),
    ...knowledgeFindings(facts),
  ]);
}

/** What the rules say about a host's driver, errors first. */
export function evaluateHostRules(facts: HostFacts): Finding[] {
  return sorted(evaluate(HOST_RULES, facts, undefined));
}

/** A rule that its owner has looked at and overrides. */
export interface Acknowledgement {
  readonly rule: string;
  readonly reason: string;
}

/**
 * Takes acknowledgements into account: an acknowledged finding becomes information and carries the reason; an
 * acknowledgement of nothing is a warning, so that it does not hide a later fault.
 */
export function acknowledge(
  findings: readonly Finding[],
  acknowledgements: readonly Acknowledgement[],
  path: string,
): Finding[] {
  const reasons = new Map(acknowledgements.map(({ rule, reason }) => [rule, reason]));
  const judged = findings.map((finding): Finding => {
    const reason = reasons.get(finding.id);
    return reason === undefined
      ? finding
      : {
          ...finding,
          severity: "info",
          acknowledged: reason,
          message: `${finding.message} (acknowledged: ${reason})`,
        };
  });
  const unused = acknowledgements.filter(({ rule }) => findings.every(({ id }) => id !== rule));
  return sorted([
    ...judged,
    ...unused.map(({ rule }): Finding => ({
      id: "unused-acknowledgement",
      severity: "warning",
      path: `${path}.acknowledge`,
      message: `${rule} is acknowledged but does not fire`,
      fix: "take the acknowledgement out",
      evidence: "the rules of the catalog",
    })),
  ]);
}
