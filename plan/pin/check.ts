/** Whether lock and pins agree: what CI asks of every folder of environments/. No network. */
import { holds } from "../../catalog/package-constraints";
import type { EnvironmentFolder, LockedPackage, WheelhouseFile } from "../../config/environment-folder";
import type { Problem } from "../../config/problems";
import { pinInputs, type PinInputs } from "./inputs";

/** Normalised name to version. */
export function versionsOf(packages: readonly LockedPackage[]): Record<string, string> {
  return Object.fromEntries(packages.map(({ name, version }) => [name, version]));
}

type Found = Pick<Problem, "id" | "message"> & { value?: string };

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
      const pin = url === undefined ? specifier : `@ ${url}`;
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

/** Every file is one that the lock accepts, and every package has its file. */
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

/** The pinned interpreter is one of the files. */
function interpreterProblems({ python, files }: EnvironmentFolder): Found[] {
  if (python === undefined || files?.some(({ sha256 }) => sha256 === python.sha256) === true) return [];
  return [
    { id: "wheelhouse-lacks-python", message: `wheelhouse.json has no file of Python ${python.version}` },
  ];
}

/**
 * What is wrong between pins, constraints of the catalog, lock and list of files. A folder that says in missing.txt
 * why it has no lock is in order.
 *
 * @param built names of the packages that wheels.toml builds
 */
export function pinProblems(environment: EnvironmentFolder, built: readonly string[]): Problem[] {
  const { name, lock, files, missing } = environment;
  if (environment.problems.length > 0) return [...environment.problems];
  const place = `environments/${name}/requirements.lock`;
  const problem = ({ id, value, message }: Found): Problem => ({
    id,
    severity: "error",
    path: place,
    ...(value === undefined ? {} : { value }),
    message,
    fix: `./stack pin ${name}`,
  });
  if (lock === undefined) {
    return missing.length > 0 ? [] : [problem({ id: "lock-missing", message: "there is no lock" })];
  }
  const locked = versionsOf(lock.packages);
  const inputs = pinInputs(environment, locked, built);
  const found = [
    ...dependencyProblems(inputs, locked),
    ...constraintProblems(inputs, locked),
    ...(files === undefined
      ? [{ id: "wheelhouse-missing", message: "there is no wheelhouse.json" }]
      : [...fileProblems(files, lock.packages), ...interpreterProblems(environment)]),
  ];
  if (missing.length > 0) found.push({ id: "lock-and-missing", message: "missing.txt stands beside a lock" });
  // What is named above explains a changed digest better.
  if (found.length === 0 && lock.inputs !== inputs.digest) {
    const made =
      lock.inputs === undefined ? "names no inputs" : `was made from inputs ${lock.inputs.slice(0, 12)}…`;
    const now = `pins and catalog are now ${inputs.digest.slice(0, 12)}…`;
    found.push({ id: "lock-outdated", message: `it ${made}, ${now}` });
  }
  return found.map(problem);
}
