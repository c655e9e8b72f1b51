// An SSH connection, dialled, retried and refused as pulumi-command 1.2.1 does it.
"use strict";
const net = require("net");
const { Client } = require("ssh2");
const { credentials } = require("./ssh-credentials.js");

const DEFAULT_PORT = 22;
const DEFAULT_DIAL_ERROR_LIMIT = 10;
const DEFAULT_PER_DIAL_TIMEOUT_SECONDS = 15;

/** Waits between dials: the first, the factor from one to the next, the longest. */
const RETRY_DELAY = { firstMs: 100, factor: 1.5, longestMs: 5000 };

/**
 * Connect, by way of `connection.proxy` if there is one.
 * @returns an ssh2 client that is ready
 * @throws after `dialErrorLimit` retries (-1: never), or when the operation is cancelled or out of time
 */
async function dial(connection, operation) {
  const settings = await credentials(connection);
  if (!connection.proxy) return dialDirectly("Dial", connection, settings, operation);
  try {
    return await dialThroughProxy(connection, settings, operation);
  } catch (error) {
    throw new Error(`proxy: ${error.message}`, { cause: error });
  }
}

async function dialThroughProxy(connection, settings, operation) {
  const proxySettings = await credentials(connection.proxy);
  const proxy = await dialDirectly("Dial proxy", connection.proxy, proxySettings, operation);
  const limit = connection.dialErrorLimit ?? DEFAULT_DIAL_ERROR_LIMIT;
  const port = connection.port ?? DEFAULT_PORT;
  const channel = await retried("Dial from proxy", limit, operation, () => {
    return new Promise((resolve, reject) => {
      proxy.forwardOut("127.0.0.1", 0, connection.host, port, (error, stream) =>
        error ? reject(error) : resolve(stream),
      );
    });
  });
  return retried("Dial", limit, operation, () => handshake(channel, settings));
}

function dialDirectly(what, connection, settings, operation) {
  const port = connection.port ?? DEFAULT_PORT;
  const seconds = connection.perDialTimeout ?? DEFAULT_PER_DIAL_TIMEOUT_SECONDS;
  return retried(what, connection.dialErrorLimit ?? DEFAULT_DIAL_ERROR_LIMIT, operation, async () =>
    handshake(await tcpConnection(connection.host, port, seconds), settings),
  );
}

/** Any failure is tried again, a wrong key as well as a closed port: so does the official provider. */
async function retried(what, limit, operation, attempt) {
  let delay = RETRY_DELAY.firstMs;
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (limit >= 0 && failures > limit) {
        throw new Error(`after ${failures - 1} failed attempts: ${error.message}`, { cause: error });
      }
    }
    operation.status(`${what} ${failures}/${limit < 0 ? "inf" : limit} failed: retrying`);
    await operation.sleep(delay);
    delay = Math.min(delay * RETRY_DELAY.factor, RETRY_DELAY.longestMs);
  }
}

/** The time limit covers this alone: a peer that accepts and stays silent afterwards is waited for. */
function tcpConnection(host, port, seconds) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port });
    const fail = (reason) => {
      socket.destroy();
      reject(new Error(`dial tcp ${host}:${port}: ${reason}`));
    };
    if (seconds > 0) socket.setTimeout(seconds * 1000, () => fail("i/o timeout"));
    socket.on("error", ({ code, message }) =>
      fail(code === "ECONNREFUSED" ? "connect: connection refused" : message),
    );
    socket.on("connect", () => {
      socket.setTimeout(0);
      socket.removeAllListeners("error").removeAllListeners("timeout");
      // As Go's dialler: a peer that lost its power is noticed when it is back, at the latest.
      socket.setKeepAlive(true, 15_000);
      resolve(socket);
    });
  });
}

function handshake(socket, settings) {
  return new Promise((resolve, reject) => {
    const client = new Client();
    // This stays for the connection's life: what breaks it later is told by its channels.
    client.on("error", (error) => {
      client.destroy();
      reject(new Error(`ssh: handshake failed: ${handshakeFailure(error, settings)}`));
    });
    client.on("close", () => reject(new Error("ssh: handshake failed: EOF")));
    client.on("ready", () => resolve(client));
    client.connect({ ...settings, sock: socket, readyTimeout: 0, keepaliveInterval: 0 });
  });
}

function handshakeFailure(error, settings) {
  if (error.level === "client-authentication") {
    const methods = ["none", ...settings.authHandler.map(({ type }) => type)];
    return `ssh: unable to authenticate, attempted methods [${methods.join(" ")}], no supported methods remain`;
  }
  return /host denied|verification failed/i.test(error.message) ? "ssh: host key mismatch" : error.message;
}

module.exports = { dial };
