// Which resource plugins a program needs: npm packages say so in the "pulumi" block of their package.json.
"use strict";
const fs = require("fs");
const path = require("path");

/**
 * The resource plugins that a program's npm packages ask for: [{ name, version, server }], each once.
 * `version` has no leading "v"; `server` is "" or where the engine would download the plugin.
 * Only packages below the program's own folder count, as with the official host.
 */
function requiredPackages(programDirectory) {
  const found = new Map();
  for (const { name, version, pulumi } of packageManifests(programDirectory)) {
    if (!pulumi?.resource) continue;
    const plugin = {
      name: pulumi.name ?? name.replace(/^@pulumi\//, ""),
      version: (pulumi.version ?? version).replace(/^v/, ""),
      server: pulumi.server ?? "",
    };
    found.set(`${plugin.name}@${plugin.version}`, plugin);
  }
  return [...found.values()];
}

/** The package.json of every package in the folder's node_modules, and in theirs. */
function packageManifests(directory) {
  const manifests = [];
  const visited = new Set(); // links of a workspace may lead back up
  const visit = (modules) => {
    for (const name of packageNames(modules)) {
      const manifest = readManifest(path.join(modules, name));
      if (!manifest) continue;
      const real = fs.realpathSync(path.join(modules, name));
      if (visited.has(real)) continue;
      visited.add(real);
      manifests.push(manifest);
      visit(path.join(real, "node_modules"));
    }
  };
  visit(path.join(directory, "node_modules"));
  return manifests;
}

/** "name" and "@scope/name" of what lies in a node_modules folder. */
function packageNames(modules) {
  return entries(modules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      name.startsWith("@") ? entries(path.join(modules, name)).map((sub) => path.join(name, sub)) : [name],
    );
}

function entries(directory) {
  try {
    return fs.readdirSync(directory);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

function readManifest(directory) {
  try {
    return JSON.parse(fs.readFileSync(path.join(directory, "package.json"), "utf8"));
  } catch (error) {
    // Some packages carry broken ones for their own tests.
    if (isAbsence(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** There is no such thing, or it is not a folder. */
const isAbsence = ({ code }) => code === "ENOENT" || code === "ENOTDIR";

module.exports = { requiredPackages };
