/** What a lock is made from: the pins, and what the catalog asks of them. No network, no machine. */
import { createHash } from "node:crypto";
import { constraintsFor, type PinConstraint } from "../../catalog/package-constraints";
import { parseRequirement, type Requirement } from "../../config/environment/requirements";
import type { EnvironmentFolder } from "../../config/environment-folder";

/** glibc of the containers (Debian 12), as uv names the platform. */
export const PLATFORM = "x86_64-manylinux_2_36";

export interface PinInputs {
  readonly dependencies: readonly Requirement[];
  readonly overrides: readonly Requirement[];
  /** Packages that are built from source here; the lock does not hold them. */
  readonly built: readonly string[];
  readonly constraints: readonly PinConstraint[];
  /** SHA-256 of all of it, in hexadecimal. */
  readonly digest: string;
}

function requirements(texts: readonly string[]): Requirement[] {
  return texts.flatMap((text) => parseRequirement(text) ?? []);
}

/** The SGLang release that the pins name with `==`; undefined: none, or a commit. */
export function pinnedRelease(dependencies: readonly Requirement[]): string | undefined {
  const sglang = dependencies.find(({ name }) => name === "sglang");
  return /^==([^,*]+)$/.exec(sglang?.specifier ?? "")?.[1];
}

/** Keys in a fixed order, so that the digest depends on what is said and not on how it is written. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, canonical(inner)]),
  );
}

/**
 * What the lock of a folder is made from.
 *
 * @param packages what is or was resolved, normalised name to version: it decides which known breakages apply
 * @param built names of the packages that wheels.toml builds
 */
export function pinInputs(
  environment: Pick<EnvironmentFolder, "dependencies" | "pythonVersion" | "uv">,
  packages: Readonly<Record<string, string>>,
  built: readonly string[],
): PinInputs {
  const dependencies = requirements(environment.dependencies);
  const overrides = requirements(environment.uv["override-dependencies"]);
  const constraints = constraintsFor(
    pinnedRelease(dependencies),
    packages,
    overrides.map(({ name }) => name),
  );
  const content = {
    dependencies: environment.dependencies,
    python: environment.pythonVersion,
    platform: PLATFORM,
    uv: environment.uv,
    built: [...built].sort(),
    constraints: constraints.map((constraint) => `${constraint.package}${constraint.specifier}`).sort(),
  };
  const digest = createHash("sha256")
    .update(JSON.stringify(canonical(content)))
    .digest("hex");
  return { dependencies, overrides, built, constraints, digest };
}
