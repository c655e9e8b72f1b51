// The `runtime: options:` of Pulumi.yaml that this host knows, checked as the official host checks them.
"use strict";

const KINDS = { packagemanager: "string", typescript: "boolean", tsconfig: "string", nodeargs: "string" };

/**
 * @param raw the options as an object
 * @returns {{ typescript: boolean, tsconfig: string, nodeargs: string[] }}
 * @throws when an option has the wrong type, or names a package manager other than npm
 */
function runtimeOptions(raw = {}) {
  for (const [name, kind] of Object.entries(KINDS)) {
    if (name in raw && typeof raw[name] !== kind) throw new Error(`${name} option must be a ${kind}`);
  }
  const manager = raw.packagemanager ?? "auto";
  if (manager !== "auto" && manager !== "npm") {
    throw new Error(`stand-in: packagemanager ${JSON.stringify(manager)} is not covered; use npm`);
  }
  return {
    typescript: raw.typescript ?? true,
    tsconfig: raw.tsconfig ?? "",
    nodeargs: shellWords(raw.nodeargs ?? ""),
  };
}

/** Split a command line into words: single and double quotes and backslashes as in sh, nothing else. */
function shellWords(text) {
  const words = [];
  const word = /\s*((?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)/y;
  for (let match; (match = word.exec(text));) words.push(unquoted(match[1]));
  return words;
}

function unquoted(word) {
  const quoted = /"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g;
  return word.replace(quoted, (_, double, single, escaped) => {
    if (double !== undefined) return double.replace(/\\(["\\$`])/g, "$1");
    return single ?? escaped;
  });
}

module.exports = { runtimeOptions, shellWords };
