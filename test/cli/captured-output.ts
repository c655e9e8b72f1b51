/** What verbs print, in tests that call them in this process. */

export interface Printed {
  stdout: string;
  stderr: string;
}

/** From now on nothing reaches the terminal; what is printed is added to the result until `jest.restoreAllMocks()`. */
export function captureOutput(): Printed {
  const printed: Printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    jest.spyOn(process[stream], "write").mockImplementation((text) => {
      printed[stream] += String(text);
      return true;
    });
  return printed;
}

/** Runs a verb; its exit code and what it printed. */
export async function outcomeOf(verb: () => number | Promise<number>): Promise<Printed & { code: number }> {
  const printed = captureOutput();
  try {
    const code = await verb();
    return { code, ...printed };
  } finally {
    jest.restoreAllMocks();
  }
}
