import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { EnvironmentConfig, StackConfig } from "../config/schema";
import { archivesOf, readWheelRecipes, type WheelRecipe, type WheelRecipes } from "../config/wheels";
import { readEnvironmentFolder } from "../config/environment-folder";
import { SCRIPTS, scriptText, shortDigest } from "./script";
import { HOST, inContainer, step, type Step } from "./step";
import { toolkitOf, toolkitPath } from "./toolkit-steps";
import { digestedRecipes, lockedTorch } from "./wheel-digest";
import { compileJobs } from "./wheel-jobs";
import { fileList, filesOfLock, uvFiles } from "./wheelhouse-steps";

export { wheelDigests, type BuildChoice } from "./wheel-digest";

/** One wheel that is built from source in one container. */
export interface WheelPlan {
  /** Name of the component, `<environment>-<package>`; its steps end in `-wheel` and `-share`. */
  readonly name: string;
  readonly environment: string;
  readonly container: string;
  readonly package: string;
  /** Everything that goes into it; wheels with one digest are the same wheel. */
  readonly digest: string;
  /** The source's version and a local version that carries the digest. */
  readonly version: string;
  readonly step: Step;
  /** Copies it into the host's wheelhouse; undefined for a stack without one. */
  readonly share: Step | undefined;
}

/** `0.3.21+pgs.1a2b3c4d5e6f`, as PEP 440 writes it: a number loses its leading zeros. */
export function localVersion(version: string, digest: string): string {
  return `${version}+pgs.${digest.replace(/^0+(?=\d+$)/, "")}`;
}

/** The Python package that builds, file by file. */
function builder(): Record<string, string> {
  const folder = join(SCRIPTS, "wheel", "kernel_wheel");
  return Object.fromEntries(
    readdirSync(folder)
      .filter((file) => file.endsWith(".py"))
      .sort()
      .map((file) => [`kernel_wheel/${file}`, readFileSync(join(folder, file), "utf8").replace(/\n+$/, "")]),
  );
}

/** What a wheel was made from, for its manifest. */
function inputsOf(recipe: WheelRecipe, digest: string, torch: string, cuda: string, python: string) {
  return {
    digest,
    package: recipe.package,
    version: recipe.version,
    torch,
    cuda,
    python,
    architectures: recipe.architectures,
    sources: Object.fromEntries(archivesOf(recipe).map(({ what, sha256 }) => [what, sha256])),
    patches: Object.fromEntries(recipe.patches.map(({ name, text }) => [name, shortDigest(text)])),
  };
}

function planWheel(
  config: StackConfig,
  projectDirectory: string,
  [name, environment]: [string, EnvironmentConfig],
  { recipe, digest }: { recipe: WheelRecipe; digest: string },
  { buildLock }: WheelRecipes,
): WheelPlan {
  const container = config.containers[environment.container];
  if (!container) throw new Error(`environment ${name} names an unknown container`);
  const toolkit = toolkitOf(config, environment);
  const torch = lockedTorch(environment.lock, projectDirectory)?.version ?? "";
  const cuda = recipe.cuda === undefined ? "" : (toolkit?.version ?? "");
  const jobs = compileJobs(container.memoryGiB, container.cores);
  const version = localVersion(recipe.version, digest);
  const { source, vendored, patches, environment: variables, cmake, architectures, imports } = recipe;
  const content = {
    package: recipe.package,
    version: recipe.version,
    local_version: version,
    digest,
    source: { name: recipe.package, url: source.url, sha256: source.sha256 },
    folder: source.folder ?? "",
    vendored: vendored.map(({ name: of, url, sha256, into }) => ({
      name: of,
      url,
      sha256,
      into: into ?? "",
    })),
    environment: variables,
    cmake,
    architectures,
    imports,
    patches: patches.map((patch) => patch.name),
    torch,
    python: environment.python,
    cuda_home: cuda === "" || toolkit === undefined ? "" : toolkitPath(toolkit),
    index: environment.index ?? "",
    jobs,
    inputs: inputsOf(recipe, digest, torch, cuda, environment.python),
  };
  const resource = `${name}-${recipe.package}`;
  const lock = readEnvironmentFolder(environment.lock, projectDirectory).lock?.text ?? "";
  const withoutEnd = (text: string) => text.replace(/\n+$/, "");
  return {
    name: resource,
    environment: name,
    container: environment.container,
    package: recipe.package,
    digest,
    version,
    step: step({
      name: `${resource}-wheel`,
      target: inContainer(container.vmId),
      script: "container/kernel-wheel",
      args: {
        package: recipe.package,
        version,
        digest,
        torch,
        cuda,
        architectures: architectures.join(","),
        // Each with its digest, so that a preview shows which one changed.
        patches: patches.map((patch) => `${patch.name}:${shortDigest(patch.text)}`).join(","),
        jobs: String(jobs),
      },
      texts: {
        "recipe.json": JSON.stringify(content, null, 2),
        ...Object.fromEntries(patches.map((patch) => [`patches/${patch.name}`, withoutEnd(patch.text)])),
        requirements: withoutEnd(lock),
        "build.lock": withoutEnd(buildLock),
        "uv-wheel": fileList(uvFiles(projectDirectory)),
        "package_index.py": scriptText("tools/package_index.py"),
        ...(config.wheelhouse === undefined
          ? {}
          : { files: fileList(filesOfLock(environment.lock, projectDirectory)) }),
        "cuda-architectures.py": scriptText("tools/cuda-architectures.py"),
        ...builder(),
      },
      timeoutMinutes: 1440,
      summary: `${recipe.package} ${version} from source with ${patches.length} patches, ${jobs} compilers at once, checked; or from the wheelhouse`,
    }),
    share:
      config.wheelhouse === undefined
        ? undefined
        : step({
            name: `${resource}-share`,
            target: HOST,
            script: "host/wheel-share",
            args: { vmid: String(container.vmId), digest, wheelhouse: config.wheelhouse.path },
            timeoutMinutes: 60,
            summary: `${recipe.package} ${version} in the wheelhouse, for other containers and hosts`,
          }),
  };
}

/** Every wheel that the stack's environments build from source. */
export function planWheels(config: StackConfig, projectDirectory: string): WheelPlan[] {
  return Object.entries(config.environments).flatMap((entry) => {
    const [, environment] = entry;
    const recipes = readWheelRecipes(environment.lock, projectDirectory);
    const choice = { python: environment.python, toolkit: toolkitOf(config, environment) };
    return digestedRecipes(environment.lock, projectDirectory, choice, recipes).map((digested) =>
      planWheel(config, projectDirectory, entry, digested, recipes),
    );
  });
}
