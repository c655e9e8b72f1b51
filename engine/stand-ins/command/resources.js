// The resources that this provider covers: their properties, and what create, update and delete do.
"use strict";
const { ASSET, ARCHIVE, isObject, signature, isSet } = require("./values.js");
const { equal } = require("./diff.js");
const { unimplemented } = require("../plugin-server.js");
const { runRemoteCommand } = require("./remote-command.js");
const { copyToRemote } = require("./copy-to-remote.js");

const isString = (value) => typeof value === "string";
const isBoolean = (value) => typeof value === "boolean";
const isStringMap = (value) => isObject(value) && Object.values(value).every(isString);
const isLogging = (value) => ["stdout", "stderr", "stdoutAndStderr", "none"].includes(value);
const isConnection = (value) => isObject(value) && isString(value.host);
const isSource = (value) => {
  if (signature(value) === ASSET) return isString(value.path) || isString(value.text);
  return signature(value) === ARCHIVE && isString(value.path);
};

const remoteCommand = {
  properties: {
    connection: isConnection,
    create: isString,
    update: isString,
    delete: isString,
    triggers: Array.isArray,
    stdin: isString,
    logging: isLogging,
    environment: isStringMap,
    addPreviousOutputInEnv: isBoolean,
  },
  required: ["connection"],
  outputs: ["stdout", "stderr"],

  async create(inputs, operation) {
    if (!isSet(inputs.create)) return { stdout: "", stderr: "" };
    return runRemoteCommand(inputs.create, inputs, undefined, operation);
  },
  /** Without an `update` the `create` runs again. */
  async update(inputs, state, operation) {
    const command = inputs.update ?? inputs.create;
    const { stdout, stderr } = state;
    return isSet(command) ? runRemoteCommand(command, inputs, state, operation) : { stdout, stderr };
  },
  /** Everything comes from the state, the connection too. Without a `delete` nothing is dialled. */
  async delete(state, operation) {
    if (isSet(state.delete)) await runRemoteCommand(state.delete, state, state, operation);
  },
};

const copyResource = {
  properties: { connection: isConnection, triggers: Array.isArray, remotePath: isString, source: isSource },
  required: ["connection", "remotePath", "source"],
  outputs: [],

  async create(inputs, operation) {
    await copyToRemote(inputs, operation);
    return {};
  },
  /** A changed connection copies nothing. */
  async update(inputs, state, operation) {
    const same = equal(inputs.source, state.source) && inputs.remotePath === state.remotePath;
    if (!same) await copyToRemote(inputs, operation);
    return {};
  },
  /** The files stay. */
  async delete() {},
};

const RESOURCES = {
  "command:remote:Command": remoteCommand,
  "command:remote:CopyToRemote": copyResource,
};

/** The resource that a URN names. @throws for one that is not covered */
function resourceOf(urn) {
  const type = urn.split("::")[2].split("$").at(-1);
  if (!RESOURCES[type]) throw unimplemented(type);
  return RESOURCES[type];
}

module.exports = { resourceOf };
