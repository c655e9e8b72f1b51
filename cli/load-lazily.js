/** Puts off what packages load at their start and this program does not use, until something looks at what it exports. */
"use strict";
const nodeModule = require("node:module");

/** A stand-in for a module that loads it at the first look at what it exports. */
function lazily(load) {
  let loaded;
  const exported = () => (loaded ??= load());
  return new Proxy({}, { get: (_, name) => (name === "__esModule" ? true : exported()[name]) });
}

/**
 * @param folder end of the path of the folder whose files ask for them
 * @param requests what they ask for, as they write it; modules that are used by the names of their exports only
 */
module.exports = function loadLazily(folder, requests) {
  const loadModule = nodeModule._load;
  nodeModule._load = (request, parent, isMain) => {
    const load = () => loadModule(request, parent, isMain);
    return requests.includes(request) && parent?.path.endsWith(folder) ? lazily(load) : load();
  };
};
