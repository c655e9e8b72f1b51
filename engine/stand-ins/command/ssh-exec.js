// Runs one command over an SSH connection.
"use strict";

/**
 * Run a command line in the login shell and pass its output on.
 * @param client an ssh2 client that is ready
 * @param command the command line
 * @param options.environment [{ name, value }] rows to set first
 * @param options.accepts asked with the names that the server refused to set: false means do not run the command
 * @param options.stdin text for standard input; without it standard input is empty
 * @param options.onStdout, options.onStderr called with each piece of output
 * @returns {{ status: number | undefined, signal: string | undefined }} how the command ended; nothing of both when
 *   the connection broke before it did
 * @throws when the command was not run
 */
function exec(client, command, { environment, accepts, stdin, onStdout, onStderr }) {
  return new Promise((resolve, reject) => {
    askBeforeExec(client, environment, (refused) => {
      if (accepts(refused)) return true;
      reject(
        new Error(`could not set environment variable ${JSON.stringify(refused[0])}: ssh: setenv failed`),
      );
      return false;
    });
    const env = Object.fromEntries(environment.map(({ name, value }) => [name, value]));
    client.exec(command, { env }, (error, channel) => {
      if (error) return reject(error);
      const ending = { status: undefined, signal: undefined };
      channel.on("data", onStdout);
      channel.stderr.on("data", onStderr);
      channel.on("exit", (status, signal) => {
        ending.status = status ?? undefined;
        ending.signal = signal?.replace(/^SIG/, "");
      });
      channel.on("error", () => {}); // a command that does not read its standard input
      channel.on("close", () => resolve(ending));
      channel.end(stdin ?? "");
    });
  });
}

/**
 * Make the client's next exec ask the server for an answer to each variable, and wait for all answers before the
 * command is sent. ssh2 has no public way to ask for them, so this looks inside it: ssh2 is pinned, and a test
 * covers a refused variable.
 * @param decide called with the names that were refused; false drops the command
 */
function askBeforeExec(client, environment, decide) {
  if (environment.length === 0) return;
  const protocol = client._protocol;
  const original = { env: protocol.env, exec: protocol.exec };
  const answers = [];
  protocol.env = (channelId, name, value) => {
    const { _callbacks: callbacks } = client._chanMgr.get(channelId);
    answers.push(new Promise((done) => callbacks.push((refused) => done(refused ? name : undefined))));
    original.env.call(protocol, channelId, name, value, true);
  };
  protocol.exec = async (channelId, ...rest) => {
    Object.assign(protocol, original);
    const refused = (await Promise.all(answers)).filter((name) => name !== undefined);
    if (decide(refused)) original.exec.call(protocol, channelId, ...rest);
  };
}

module.exports = { exec };
