import { spawn } from "node:child_process";
import { join } from "node:path";

const PACKAGE_FOLDER = join(__dirname, "..", "scripts", "probe");

/** What a run of the judge left. */
export interface JudgeResult {
  /** 0: every answer is healthy; 1: at least one is not, or Python is missing; 3: used wrongly. */
  readonly exitCode: number;
  /** For standard output: one line an answer, or with `json` the object `{verdicts: [{healthy, reasons, …}]}`. */
  readonly output: string;
  /** For standard error: what was wrong with the call. */
  readonly errors: string;
}

/**
 * Judges chat answers (`./stack judge FILE [--json]`): healthy text, or loops, word salad, nothing, …
 * The judge is the one of the health gate; since no question is known, a fluent wrong answer passes.
 *
 * @param file a JSON file: an OpenAI chat completion, an array of them, or an object with `answers`; "-" reads standard input
 * @param json verdicts as JSON instead of text
 */
export function judgeFile(file: string, json = false): Promise<JudgeResult> {
  const environment = {
    ...process.env,
    PYTHONPATH: PACKAGE_FOLDER,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUTF8: "1",
  };
  const words = ["-m", "sglang_probe", "judge", ...(json ? ["--json"] : []), "--", file];
  return new Promise((resolve) => {
    const child = spawn("python3", words, { env: environment, stdio: ["inherit", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.on("error", (error) => {
      const cause = `python3 cannot be started (${error.message}); install Python 3.10 or newer\n`;
      resolve({ exitCode: 1, output: "", errors: cause });
    });
    child.on("close", (code) => {
      resolve({ exitCode: code ?? 1, output, errors });
    });
  });
}
