/** What a pull request's description allows: lines such as `allow-replace: kpro5/ml-container`. */

const LINE = /^[\s>*-]*allow-replace:\s*(.+)$/gim;

/** The resources that a description names, as STACK/RESOURCE or RESOURCE alone. */
export function allowancesIn(description: string): string[] {
  return [...description.matchAll(LINE)].flatMap(([, names]) =>
    (names ?? "")
      .split(/[\s,]+/)
      .map((name) => name.replaceAll("`", ""))
      .filter((name) => name !== ""),
  );
}

/** Whether a resource of a stack is named; a name without a stack counts in every stack. */
export function isAllowed(allowed: readonly string[], stack: string, resource: string): boolean {
  return allowed.includes(`${stack}/${resource}`) || allowed.includes(resource);
}
