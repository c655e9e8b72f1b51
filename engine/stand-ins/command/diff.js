// What differs between two sets of inputs, as the official provider reports it.
"use strict";
const { ASSET, ARCHIVE, isObject, signature, isSet } = require("./values.js");

/** Whether two property values are the same. Files and archives are compared by their hash. */
function equal(one, other) {
  if (!isSet(one) || !isSet(other)) return isSet(one) === isSet(other);
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  if (Array.isArray(one) !== Array.isArray(other) || signature(one) !== signature(other)) return false;
  if (signature(one) === ASSET || signature(one) === ARCHIVE) return one.hash === other.hash;
  return unionOfKeys(one, other).every((key) => equal(one[key], other[key]));
}

/**
 * The paths that differ, each with "add", "delete" or "update": a Map.
 * A secret counts as one value: what differs inside it is not told.
 */
function diff(olds, news, path = "", found = new Map()) {
  for (const key of unionOfKeys(olds, news)) {
    const [before, after] = [olds[key], news[key]];
    const at = extended(path, key, Array.isArray(olds));
    if (equal(before, after)) continue;
    if (!isSet(before)) found.set(at, "add");
    else if (!isSet(after)) found.set(at, "delete");
    else if (isContainer(before, after)) diff(before, after, at, found);
    else found.set(at, "update");
  }
  return found;
}

const unionOfKeys = (one, other) => [...new Set([...Object.keys(one), ...Object.keys(other)])];

/** Whether both are arrays, or both are plain objects. */
function isContainer(before, after) {
  if (Array.isArray(before) || Array.isArray(after)) return Array.isArray(before) && Array.isArray(after);
  return isObject(before) && isObject(after) && !signature(before) && !signature(after);
}

/** The path of a key below another path, in the engine's spelling: a.b, a[0], a["with.dot"]. */
function extended(path, key, isIndex) {
  if (isIndex) return `${path}[${key}]`;
  if (key === "" || /[."[\]]/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

module.exports = { equal, diff };
