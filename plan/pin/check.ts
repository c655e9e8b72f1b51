/** Whether lock and pins agree: what CI asks of every folder of environments/. No network. */
import { holds } from "../../catalog/package-constraints";
import type { EnvironmentFolder, LockedPackage, WheelhouseFile } from "../../config/environment-folder";
import { parseLock } from "../../config/environment/requirements";
import type { Problem, Severity } from "../../config/problems";
import { UNKNOWN } from "../../config/schema";
import { archivesOf, type WheelRecipes } from "../../config/wheels";
import { pinInputs, type PinInputs } from "./inputs";

/** Normalised name to version. */
export function versionsOf(packages: readonly LockedPackage[]): Record<string, string> {
  return Object.fromEntries(packages.map(({ name, version }) => [name, version]));
}

type Found = Pick<Problem, "id" | "message"> & { value?: string; severity?: Severity };

/** Each direct dependency and override is in the lock, in a version that it allows. */
function dependencyProblems(
  { dependencies, overrides, built }: PinInputs,
  locked: Record<string, string>,
): Found[] {
  const overridden = overrides.map(({ name }) => name);
  const wanted = [...dependencies.filter(({ name }) => !overridden.includes(name)), ...overrides];
  return wanted.flatMap(({ name, specifier, url }): Found[] => {
    if (built.includes(name)) return [];
    const version = locked[name];
    if (version === undefined) {
      const pin = url === undefined ? specifier : ` @ ${url}`;
      return [
        {
          id: "lock-lacks-package",
          message: `pyproject.toml asks for ${name}${pin}, the lock has no ${name}`,
        },
      ];
    }
    if (url !== undefined || holds(version, specifier)) return [];
    return [
      {
        id: "lock-differs",
        value: `${name} ${version}`,
        message: `pyproject.toml asks for ${name}${specifier}, the lock has ${version}`,
      },
    ];
  });
}

function constraintProblems({ constraints }: PinInputs, locked: Record<string, string>): Found[] {
  return constraints.flatMap(({ package: name, specifier, origin }) => {
    const version = locked[name];
    if (version === undefined || holds(version, specifier)) return [];
    return [
      {
        id: "constraint-broken",
        value: `${name} ${version}`,
        message: `${origin} asks for ${name}${specifier}, the lock has ${version}`,
      },
    ];
  });
}

/** Every file is one that the locks accept, and every package has its file. */
function fileProblems(files: readonly WheelhouseFile[], packages: readonly LockedPackage[]): Found[] {
  const wrong = files.flatMap((file): Found[] => {
    if (file.package === undefined) return [];
    const locked = packages.find(({ name }) => name === file.package);
    if (locked === undefined) {
      return [
        {
          id: "wheelhouse-differs",
          message: `${file.name} is of ${file.package}, which the lock does not have`,
        },
      ];
    }
    if (locked.hashes.includes(file.sha256)) return [];
    const hash = file.sha256.slice(0, 12);
    const message = `${file.name} has sha256 ${hash}…, which the lock does not accept for ${locked.name} ${locked.version}`;
    return [{ id: "wheelhouse-differs", message }];
  });
  const lacking = packages.filter(({ name }) => !files.some((file) => file.package === name));
  return [
    ...wrong,
    ...lacking.map(({ name, version }) => ({
      id: "wheelhouse-lacks-package",
      message: `the lock has ${name} ${version}, wheelhouse.json has no file of it`,
    })),
  ];
}

/** The pinned interpreter, and the sources of wheels that are built here, are among the files. */
function archiveProblems({ python, files }: EnvironmentFolder, { recipes }: WheelRecipes): Found[] {
  const interpreter =
    python === undefined ? [] : [{ what: `Python ${python.version}`, sha256: python.sha256 }];
  return [...interpreter, ...recipes.flatMap(archivesOf)]
    .filter(({ sha256 }) => sha256 !== UNKNOWN && !files?.some((file) => file.sha256 === sha256))
    .map(({ what }) => ({
      id: "wheelhouse-lacks-archive",
      message: `wheelhouse.json has no file with the sha256 of ${what}`,
    }));
}

/** Whether the header names the inputs of today. */
function digestProblems(lock: EnvironmentFolder["lock"], { digest }: PinInputs): Found[] {
  if (lock?.inputs === digest) return [];
  if (lock?.inputs === undefined) {
    return [
      {
        id: "lock-without-inputs",
        severity: "warning",
        message: "its header does not say what it was made from",
      },
    ];
  }
  const now = `pins and catalog are now ${digest.slice(0, 12)}…`;
  return [{ id: "lock-outdated", message: `it was made from inputs ${lock.inputs.slice(0, 12)}…, ${now}` }];
}

/**
 * What is wrong between pins, constraints of the catalog, lock and list of files. A folder that says in missing.txt
 * why it has no lock is in order.
 *
 * @param wheels what the environment builds from source
 */
export function pinProblems(environment: EnvironmentFolder, wheels: WheelRecipes): Problem[] {
  const { name, lock, files, missing } = environment;
  if (environment.problems.length > 0) return [...environment.problems];
  const place = `environments/${name}/requirements.lock`;
  const problem = ({ id, severity = "error", value, message }: Found): Problem => ({
    id,
    severity,
    path: place,
    ...(value === undefined ? {} : { value }),
    message,
    fix: `./stack pin ${name}`,
  });
  if (lock === undefined) {
    return missing.length > 0 ? [] : [problem({ id: "lock-missing", message: "there is no lock" })];
  }
  const locked = versionsOf(lock.packages);
  const built = wheels.recipes.map((recipe) => recipe.package);
  const inputs = pinInputs(environment, locked, built);
  const packages = [...lock.packages, ...parseLock(wheels.buildLock).packages];
  const found: Found[] = [
    ...dependencyProblems(inputs, locked),
    ...constraintProblems(inputs, locked),
    ...(files === undefined
      ? [{ id: "wheelhouse-missing", message: "there is no wheelhouse.json" }]
      : [...fileProblems(files, packages), ...archiveProblems(environment, wheels)]),
  ];
  if (missing.length > 0) found.push({ id: "lock-and-missing", message: "missing.txt stands beside a lock" });
  // What is named above explains a changed digest better.
  if (found.length === 0) found.push(...digestProblems(lock, inputs));
  return found.map(problem);
}
