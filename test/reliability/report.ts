/** One test of the fault matrix, as jest reports it. */
export interface TestResult {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
}

/** What of jest's JSON is read. */
export interface Results {
  readonly testResults: readonly { readonly assertionResults: readonly TestResult[] }[];
}

/** A cell of the table that no case can have. */
export interface NotApplicable {
  readonly component: string;
  readonly fault: string;
  readonly reason: string;
}

interface Row {
  readonly everyStep: boolean;
  readonly component: string;
  readonly fault: string;
  readonly said: string;
  readonly keeps: string;
  readonly passed: boolean;
}

/** Takes the name of a test apart that `caseName` (test/faults/fault-case.ts) made. */
function row({ ancestorTitles, title, status }: TestResult): Row {
  const [kind = "", component = ""] = (ancestorTitles[0] ?? "").split(": ");
  const [fault = "", said = "", keeps = ""] = title.split(" | ");
  return { everyStep: kind === "every step", component, fault, said, keeps, passed: status === "passed" };
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const unique = (values: readonly string[]) => [...new Set(values)];

/** The table of components and faults: what became of each pair. */
function matrix(rows: readonly Row[], allNotApplicable: readonly NotApplicable[]): string {
  const steps = rows.filter(({ everyStep }) => everyStep);
  const notApplicable = allNotApplicable.filter((cell) =>
    steps.some(({ component }) => component === cell.component),
  );
  const faults = unique(steps.map(({ fault }) => fault));
  const components = unique(steps.map(({ component }) => component));
  const state = (component: string, fault: string) => {
    const found = steps.find((one) => one.component === component && one.fault === fault);
    if (found !== undefined) return found.passed ? "passed" : "**failed**";
    const number = notApplicable.findIndex((one) => one.component === component && one.fault === fault);
    return number < 0 ? "not tried" : `– (${number + 1})`;
  };
  const cells = components.map((component) => [component, ...faults.map((fault) => state(component, fault))]);
  const reasons = notApplicable.map(
    ({ component, fault, reason }, index) => `${index + 1}. ${component}, ${fault}: ${reason}`,
  );
  return [table(["at work", ...faults], cells), ...(reasons.length > 0 ? [reasons.join("\n")] : [])].join(
    "\n\n",
  );
}

/** Every case of one component: what an `up` says, and what goes on serving. */
function section(component: string, rows: readonly Row[]): string {
  const cells = rows.map(({ fault, said, keeps, passed }) => [
    passed ? fault : `${fault} (failed)`,
    said,
    keeps,
  ]);
  return `### ${component[0]?.toUpperCase() ?? ""}${component.slice(1)}\n\n${table(["what happens", "what `up` says", "what was serving"], cells)}`;
}

/**
 * docs/reliability.md.
 *
 * @param date of the run, e.g. `2026-11-30`
 */
export function reliabilityReport(
  results: readonly Results[],
  notApplicable: readonly NotApplicable[],
  date: string,
): string {
  const rows = results
    .flatMap(({ testResults }) => testResults)
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "passed" || status === "failed")
    .map(row)
    .sort(
      (a, b) =>
        Number(b.everyStep) - Number(a.everyStep) ||
        (a.component < b.component ? -1 : Number(a.component > b.component)),
    );
  const passed = rows.filter((one) => one.passed).length;
  const wordless = rows.filter(({ said }) => !said.includes("→") && !said.startsWith("nothing"));
  const components = unique(rows.map(({ component }) => component));
  return `# What happens if…

Faults that were made to happen to a deployed stack on [the lab](../lab/README.md), by \`test/faults/run\`. Each case starts with a stack whose
service answers, changes the stack file, runs \`pulumi up\` into the fault, and asserts all of this:

1. the owner's files in the container and in the model folder are as they were, except where the fault itself destroys them;
2. what was serving is as the last column says: same process, or a right answer by itself;
3. the failed \`up\` says the machine, the step, the cause and, after the arrow, the way on;
4. once the cause is gone and the way on was followed, the next \`up\` goes through, the answer is right,
   \`pulumi preview --expect-no-changes\` is clean, and nothing half-built is left.

Last run: ${date}. **${rows.length} cases: ${passed} passed, ${rows.length - passed} failed.** In ${wordless.length} of them a provider of Pulumi words the
error and names no way on: it is to run \`up\` again.

\`{host}\` stands for the host's address; \`pve1\` is the host, \`ml\` its container.

## Every component, struck in its middle

${matrix(rows, notApplicable)}

## Case by case

${components
  .map((component) =>
    section(
      component,
      rows.filter((one) => one.component === component),
    ),
  )
  .join("\n\n")}
`;
}
