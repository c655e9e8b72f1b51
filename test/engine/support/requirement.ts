/**
 * A group of tests that need something which a machine may lack.
 * @param missing says what is missing and how to get it; undefined when nothing is. Then the tests run; otherwise they
 *   are skipped with that reason in the group's name, and with CI=true the group fails.
 */
export function describeWith(missing: string | undefined, name: string, tests: () => void): void {
  if (missing === undefined) {
    describe(name, tests);
  } else if (process.env.CI === "true") {
    test(name, () => {
      throw new Error(`these tests must not be skipped with CI=true: ${missing}`);
    });
  } else {
    describe.skip(`${name} (skipped: ${missing})`, tests);
  }
}
