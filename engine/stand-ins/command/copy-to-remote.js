// remote.CopyToRemote: a file, a folder or a text over SFTP. As in the official provider it is not atomic, sets no
// mode or owner, and removes nothing.
"use strict";
const fs = require("fs");
const path = require("path");
const { dial } = require("./ssh-connection.js");

const SFTP_NO_SUCH_FILE = 2;

/**
 * Copy `inputs.source` to `inputs.remotePath`.
 * A file goes to the path, or into it if it is a folder; a folder "dir" becomes path/dir, of "dir/" only the
 * content is copied; a text needs a path that is no folder. Missing folders on the way are made.
 */
async function copyToRemote({ connection, source, remotePath }, operation) {
  const client = await dial(connection, operation);
  try {
    const remote = new RemoteFiles(await sftpOf(client));
    if (source.text !== undefined) await copyText(remote, source.text, remotePath);
    else if (fs.statSync(source.path).isDirectory()) await copyFolder(remote, source.path, remotePath);
    else await copyFile(remote, source.path, remotePath);
  } finally {
    client.end();
  }
}

async function copyText(remote, text, target) {
  if ((await remote.stat(target))?.isDirectory()) {
    const rule = "when using a text asset, remotePath must be a file path";
    throw new Error(`remote path ${target} is a directory; ${rule}`);
  }
  await remote.makeFolders(path.posix.dirname(target));
  await remote.call("writeFile", target, text);
}

async function copyFile(remote, source, target) {
  const there = await remote.stat(target);
  if (!there) await remote.makeFolders(path.posix.dirname(target));
  const into = there?.isDirectory() ? path.posix.join(target, path.basename(source)) : target;
  await remote.call("fastPut", source, into);
}

async function copyFolder(remote, source, target) {
  await remote.makeFolders(target);
  const contentOnly = source.endsWith("/");
  await copyTree(remote, source, contentOnly ? target : path.posix.join(target, path.basename(source)));
}

async function copyTree(remote, source, target) {
  await remote.makeFolder(target);
  for (const entry of fs.readdirSync(source, { withFileTypes: true })) {
    const from = path.join(source, entry.name);
    const to = path.posix.join(target, entry.name);
    if (entry.isDirectory()) await copyTree(remote, from, to);
    else await remote.call("fastPut", from, to);
  }
}

const sftpOf = (client) =>
  new Promise((resolve, reject) => client.sftp((error, sftp) => (error ? reject(error) : resolve(sftp))));

/** An SFTP session with promises. */
class RemoteFiles {
  #sftp;

  constructor(sftp) {
    this.#sftp = sftp;
  }

  call(method, ...parameters) {
    return new Promise((resolve, reject) => {
      this.#sftp[method](...parameters, (error, value) => (error ? reject(error) : resolve(value)));
    });
  }

  /** Undefined when there is nothing at the path. */
  async stat(remotePath) {
    try {
      return await this.call("stat", remotePath);
    } catch (error) {
      if (error.code === SFTP_NO_SUCH_FILE) return undefined;
      throw new Error(`failed to stat remote path ${remotePath}: ${error.message}`, { cause: error });
    }
  }

  /** The folder and all above it. */
  async makeFolders(folder) {
    if (await this.stat(folder)) return;
    await this.makeFolders(path.posix.dirname(folder));
    await this.call("mkdir", folder);
  }

  async makeFolder(folder) {
    const there = await this.stat(folder);
    if (!there) await this.call("mkdir", folder);
    else if (!there.isDirectory()) throw new Error(`remote path ${folder} exists but is not a directory`);
  }
}

module.exports = { copyToRemote };
