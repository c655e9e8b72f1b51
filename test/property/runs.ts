import fc from "fast-check";

/** `PROPERTY_RUNS=2000` looks longer. */
const RUNS = Number(process.env["PROPERTY_RUNS"] ?? 0);

/** `PROPERTY_SEED=…`, from a failure's message, tries the same cases again. */
const SEED = process.env["PROPERTY_SEED"];

/**
 * Checks a property over many cases. The error names the seed and the smallest case that was found.
 *
 * @param runs cases, few enough that all files of this folder together take less than a minute
 */
export function holds<T>(cases: fc.Arbitrary<T>, runs: number, check: (value: T) => void): void {
  const result = fc.check(fc.property(cases, check), {
    numRuns: RUNS > 0 ? RUNS : runs,
    ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    // Shrinking a whole stack file ends where it is small enough to read.
    interruptAfterTimeLimit: 40_000,
    markInterruptAsFailure: false,
  });
  if (!result.failed) return;
  const found = JSON.stringify(result.counterexample?.[0], null, 1).slice(0, 6000);
  const cause = result.errorInstance;
  const message = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  throw new Error(
    `fails with PROPERTY_SEED=${result.seed} (${result.numShrinks} shrinks) for\n${found}\n${message}`,
  );
}
