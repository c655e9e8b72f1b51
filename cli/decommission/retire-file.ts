/** The stack file of a stack that went out of service: it stays as it is, with one key more. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { NAMESPACE } from "../../config/schema";

const KEY = `${NAMESPACE}:retired`;

/** The text of a stack file with the key `retired`; comments and the order of keys stay. */
export function retiredText(text: string, day: string): string {
  const document = parseDocument(text);
  if (document.hasIn(["config", KEY])) {
    document.setIn(["config", KEY], day);
    return String(document);
  }
  const line = `  # Out of service: previews, cannot be deployed. Written by ./stack decommission.\n  ${KEY}: "${day}"\n`;
  const inserted = text.replace(/^config:[ \t]*(#.*)?\n/m, (config) => `${config}${line}`);
  if (inserted !== text) return inserted;
  document.setIn(["config", KEY], day);
  return String(document);
}

/** Writes the key into the file, aside and renamed. */
export function retireFile(file: string, day: string): void {
  const aside = `${file}.next`;
  writeFileSync(aside, retiredText(readFileSync(file, "utf8"), day));
  renameSync(aside, file);
}
