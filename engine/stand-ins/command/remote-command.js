// remote.Command: one command line over SSH, its output kept.
"use strict";
const os = require("os");
const { dial } = require("./ssh-connection.js");
const { exec } = require("./ssh-exec.js");
const { CommandOutput } = require("./command-output.js");

/**
 * Run a command of a remote.Command resource.
 * The connection stays open until this process ends, one an operation: so does the official provider, and it
 * matters to a host that counts connections.
 * @param command the command line
 * @param inputs the resource's inputs, or for a delete its state
 * @param previous the resource's earlier { stdout, stderr }, if any
 * @returns {{ stdout: string, stderr: string }} the output, one trailing newline removed
 * @throws when the command fails; the message repeats the command and all its output
 */
async function runRemoteCommand(command, inputs, previous, operation) {
  const client = await dial(inputs.connection, operation);
  const output = new CommandOutput(inputs.logging, (line) => operation.status(line));
  const given = rows(inputs.environment);
  const ending = await exec(client, command, {
    environment: [...given, ...previousOutput(inputs, previous)],
    accepts: (refused) => acceptsRefused(refused, given, operation),
    stdin: inputs.stdin,
    onStdout: (data) => output.add("stdout", data),
    onStderr: (data) => output.add("stderr", data),
  });
  return output.result(failure(ending), command);
}

const rows = (variables = {}) => Object.entries(variables).map(([name, value]) => ({ name, value }));

/** What an earlier run printed goes along, unless the resource says no. */
function previousOutput(inputs, previous) {
  if (inputs.addPreviousOutputInEnv === false) return [];
  const variables = { PULUMI_COMMAND_STDOUT: previous?.stdout, PULUMI_COMMAND_STDERR: previous?.stderr };
  return rows(variables).filter(({ value }) => value);
}

/** A variable of the user's must be set; for the previous output a warning will do. */
function acceptsRefused(refused, given, operation) {
  const needed = refused.filter((name) => given.some((row) => row.name === name));
  for (const name of refused) {
    const severity = needed.includes(name) ? "error" : "warning";
    const reason =
      "This only works if your SSH server is configured to accept these variables via AcceptEnv.";
    operation.report(severity, `Unable to set '${name}'. ${reason}`);
  }
  return needed.length === 0;
}

/** What went wrong, in the words of Go's SSH library; undefined when nothing did. */
function failure({ status, signal }) {
  if (signal) {
    const shellStatus = 128 + (os.constants.signals[`SIG${signal}`] ?? 0);
    return `Process exited with status ${status ?? shellStatus} from signal ${signal}`;
  }
  if (status === undefined) return "wait: remote command exited without exit status or exit signal";
  return status === 0 ? undefined : `Process exited with status ${status}`;
}

module.exports = { runRemoteCommand };
