// Checks a resource's inputs and fills in defaults, before anything is planned.
"use strict";
const { isObject, signature, isSecret, secret, isSet, plain, hasUnknown } = require("./values.js");

const CONNECTION_DEFAULTS = { user: "root", port: 22, dialErrorLimit: 10, perDialTimeout: 15 };

/** Properties that the engine adds for itself. */
const isInternal = (name) => name.startsWith("__") || name === "version";

/**
 * @returns {{ inputs: object, failures: { property: string, reason: string }[] }} the inputs without nulls, the
 *   connection with its defaults and secret
 */
function checkInputs({ properties, required }, given) {
  const inputs = Object.fromEntries(Object.entries(given).filter(([, value]) => isSet(value)));
  const failures = required
    .filter((name) => !isSet(inputs[name]))
    .map((property) => ({ property, reason: "Missing required field" }));
  for (const [property, value] of Object.entries(inputs)) {
    if (isInternal(property)) continue;
    const accepts = properties[property];
    if (!accepts) failures.push({ property, reason: "not covered by the stand-in" });
    else if (!hasUnknown(plain(value)) && !accepts(plain(value))) {
      failures.push({ property, reason: "not a valid value" });
    }
  }
  if (isSet(inputs.connection)) inputs.connection = secretConnection(inputs.connection);
  return { inputs, failures };
}

function secretConnection(connection) {
  const complete = withDefaults(connection);
  return isSecret(complete) ? complete : secret(complete);
}

function withDefaults(connection) {
  if (isSecret(connection)) return secret(withDefaults(connection.value));
  if (!isObject(connection) || signature(connection)) return connection; // not known yet
  const proxy = isSet(connection.proxy) ? { proxy: withDefaults(connection.proxy) } : {};
  return { ...CONNECTION_DEFAULTS, ...connection, ...proxy };
}

module.exports = { checkInputs, isInternal };
