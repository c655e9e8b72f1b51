/** `test/faults/run` calls this: writes docs/reliability.md from the JSON files of jest that it is given. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { NOT_APPLICABLE } from "./not-applicable";
import { reliabilityReport, type Results } from "./report";

const results = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")) as Results);
const date = new Date().toISOString().slice(0, 10);
writeFileSync(
  join(__dirname, "..", "..", "docs", "reliability.md"),
  reliabilityReport(results, NOT_APPLICABLE, date),
);
