/**
 * What Pulumi's program is started with (`nodeargs` in Pulumi.yaml): TypeScript, and less of the SDK. Over half of what loading the SDK
 * costs is TypeScript's compiler and npm's resolver, with which it turns functions into text for clouds; nothing here does that, so they
 * are loaded when something asks for them.
 */
"use strict";
const nodeModule = require("node:module");
const path = require("node:path");
require("./typescript.js");

const CLOSURES = path.join("@pulumi", "pulumi", "runtime", "closure");
const SELDOM_USED = ["../../typescript-shim", "@npmcli/arborist"];

/** A stand-in for a module that loads it at the first look at what it exports. */
function lazily(load) {
  let loaded;
  const exported = () => (loaded ??= load());
  return new Proxy({}, { get: (_, name) => (name === "__esModule" ? true : exported()[name]) });
}

const loadModule = nodeModule._load;
nodeModule._load = (request, parent, isMain) => {
  const load = () => loadModule(request, parent, isMain);
  return SELDOM_USED.includes(request) && parent?.path.endsWith(CLOSURES) ? lazily(load) : load();
};

// Pulumi's runner brings a mapper of stack traces that does not know what was compiled here, and makes each trace dear: the SDK takes one
// for every promise. Node's own stays.
const loadTypeScript = nodeModule._extensions[".ts"];
nodeModule._extensions[".ts"] = (module, filename) => {
  Error.prepareStackTrace = undefined;
  loadTypeScript(module, filename);
};
