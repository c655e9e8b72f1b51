/** Marks steps in a stack's state, so that the next `up` runs them again although their command line is unchanged. */

/** A stack's state as `pulumi stack export` prints it, as far as it matters here. */
export interface StateFile {
  readonly deployment: {
    readonly manifest?: { readonly time?: string };
    readonly resources?: readonly StateResource[];
  };
}

export interface StateResource {
  readonly urn: string;
  readonly type: string;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly outputs?: Readonly<Record<string, unknown>>;
}

const STEP = "command:remote:Command";
const MARK = /^drifted \([^)]*\): /;

export const nameOf = ({ urn }: StateResource): string => urn.split("::").at(-1) ?? "";

/** The resource of a step, or undefined when the step was never deployed. */
export function stepResource(state: StateFile, name: string): StateResource | undefined {
  return state.deployment.resources?.find((resource) => resource.type === STEP && nameOf(resource) === name);
}

/** The command line that a step was last run with. */
export function deployedLine({ inputs }: StateResource): string {
  return String(inputs?.["create"] ?? "").replace(MARK, "");
}

/**
 * The state with a mark before these steps' command lines. The engine then sees an ordinary change: it runs the step's
 * script and writes the line without the mark. An `up` that fails leaves the mark, and so the work, to the next one.
 *
 * Only the line is touched: a step is neither replaced nor removed by it.
 */
export function markSteps(state: StateFile, urns: ReadonlySet<string>, time: Date): StateFile {
  const mark = (resource: StateResource): StateResource => {
    const create = `drifted (${time.toISOString()}): ${deployedLine(resource)}`;
    return {
      ...resource,
      inputs: { ...resource.inputs, create },
      outputs: { ...resource.outputs, create },
    };
  };
  return {
    ...state,
    deployment: {
      ...state.deployment,
      resources: (state.deployment.resources ?? []).map((resource) =>
        urns.has(resource.urn) ? mark(resource) : resource,
      ),
    },
  };
}
