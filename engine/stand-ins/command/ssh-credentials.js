// What a `connection` says about keys, as the settings of an ssh2 client.
"use strict";
const net = require("net");
const { utils } = require("ssh2");

/**
 * Settings of an ssh2 client for a connection: user, accepted host key, and the methods to log in by, in the
 * official order: private key, password, keyboard-interactive, agent.
 * @throws before any dial for what no retry can cure: a key that cannot be read, an agent that does not answer
 */
async function credentials(connection) {
  const username = connection.user ?? "root";
  const methods = [];
  if (connection.privateKey) {
    const key = utils.parseKey(connection.privateKey, connection.privateKeyPassword);
    if (key instanceof Error) throw new Error(`ssh: ${key.message}`);
    const passphrase = connection.privateKeyPassword;
    methods.push({ type: "publickey", username, key: connection.privateKey, passphrase });
  }
  if (connection.password) {
    const { password } = connection;
    const prompt = (_name, _text, _language, questions, finish) => finish(questions.map(() => password));
    methods.push({ type: "password", username, password });
    methods.push({ type: "keyboard-interactive", username, prompt });
  }
  // As in the official provider, an agent that does not answer is an error even beside a private key.
  const agent = connection.agentSocketPath ?? process.env.SSH_AUTH_SOCK;
  if (agent) {
    await checkAgent(agent);
    methods.push({ type: "agent", username, agent });
  }
  return { username, authHandler: methods, ...hostKeySettings(connection.hostKey) };
}

/** Without a host key any host is accepted. With one, only its algorithm is offered and only it is accepted. */
function hostKeySettings(hostKey) {
  if (!hostKey) return {};
  const [type, base64] = hostKey.trim().split(/\s+/);
  const key = utils.parseKey(`${type} ${base64}`);
  if (!base64 || key instanceof Error) throw new Error("failed to parse host key: ssh: no key found");
  const wanted = key.getPublicSSH();
  return {
    algorithms: { serverHostKey: [key.type] },
    hostVerifier: (presented) => presented.equals(wanted),
  };
}

function checkAgent(socketPath) {
  return new Promise((resolve, reject) => {
    const probe = net.connect(socketPath, () => {
      probe.end();
      resolve();
    });
    probe.on("error", (error) => reject(new Error(`dial unix ${socketPath}: ${error.message}`)));
  });
}

module.exports = { credentials };
