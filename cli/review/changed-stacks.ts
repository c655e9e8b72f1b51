/** Which stacks a change touches, decided by the paths of the files that changed. */

/** What a stack file names that lies elsewhere in the repository. */
export interface StackInputs {
  readonly stack: string;
  /** Folders of environments/ that it uses. */
  readonly locks: readonly string[];
  /** Repositories of its models, `owner/name`. */
  readonly models: readonly string[];
  /** Files that its `file:` checksums name. */
  readonly checksumFiles: readonly string[];
}

export interface ChangedStack {
  readonly stack: string;
  /** The changed files that touch it, shortened to what they have in common. */
  readonly because: readonly string[];
}

/** What every stack is made of. */
const PROGRAM =
  /^(index\.ts|Pulumi\.yaml|package(-lock)?\.json|tsconfig\.json|(catalog|components|config|plan)\/|scripts\/(host|container|lib|probe|tools)\/|environments\/[^/]+$)/;

/** The part of the program that a path belongs to: a folder, or the file itself. */
function part(file: string): string {
  return file.includes("/") ? `${file.split("/")[0] ?? file}/` : file;
}

function touches(file: string, inputs: StackInputs): string | undefined {
  if (file === `Pulumi.${inputs.stack}.yaml`) return file;
  if (PROGRAM.test(file)) return part(file);
  const lock = inputs.locks.find((name) => file.startsWith(`environments/${name}/`));
  if (lock !== undefined) return `environments/${lock}/`;
  // Facts are a file of the repository's name, lists of files a folder of that name.
  const models = inputs.models.map((repo) => `models/${repo.replace("/", "--")}`);
  if (models.some((model) => file === `${model}.json` || file.startsWith(`${model}/`))) return file;
  return inputs.checksumFiles.includes(file) ? file : undefined;
}

/** The stacks that a change touches, by name, each with why. */
export function changedStacks(files: readonly string[], stacks: readonly StackInputs[]): ChangedStack[] {
  return stacks
    .map((inputs) => ({
      stack: inputs.stack,
      because: [...new Set(files.flatMap((file) => touches(file, inputs) ?? []))].sort(),
    }))
    .filter(({ because }) => because.length > 0)
    .sort((a, b) => (a.stack < b.stack ? -1 : 1));
}
