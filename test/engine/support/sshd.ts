import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

export const SSHD = join(__dirname, "sshd.sh");

/** A real OpenSSH server on the loopback interface, with keys of its own. It lets in the user that runs the test. */
export class Sshd {
  private process: ChildProcess | undefined;

  private constructor(
    /** Holds the server's files; tests may put theirs here. */
    readonly folder: string,
    readonly port: number,
    /** `ssh-ed25519 AAAA…` */
    readonly hostKey: string,
    readonly privateKey: string,
  ) {}

  /**
   * Start a server on a free port.
   * @param acceptEnv names of variables that clients may set
   */
  static async start(acceptEnv: readonly string[] = []): Promise<Sshd> {
    const folder = mkdtempSync(join(tmpdir(), "sshd-"));
    const file = (name: string) => join(folder, name);
    for (const name of ["host_key", "client_key"]) {
      sshProgram("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file(name));
    }
    renameSync(file("client_key.pub"), file("authorized_keys"));
    const port = await freePort();
    writeFileSync(file("sshd_config"), configuration(folder, port, acceptEnv));
    const hostKey = readFileSync(file("host_key.pub"), "utf8").trim();
    const sshd = new Sshd(folder, port, hostKey, readFileSync(file("client_key"), "utf8"));
    await sshd.resume();
    return sshd;
  }

  /** Start it, after `stop`. */
  async resume(): Promise<void> {
    // It dies with this process, even where that is killed.
    const command = ["--pdeathsig", "TERM", SSHD, "run", "-D", "-e", "-f", join(this.folder, "sshd_config")];
    const child = spawn("setpriv", command, { stdio: ["ignore", "ignore", "pipe"] });
    this.process = child;
    let log = "";
    child.stderr.on("data", (data: Buffer) => (log += data.toString()));
    while (!(await answers(this.port))) {
      if (child.exitCode !== null) throw new Error(`sshd did not start:\n${log}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** End the server. A session ends with its connection. */
  async stop(): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The `connection` of a command that uses this server. */
  connection(changes: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      host: "127.0.0.1",
      port: this.port,
      user: userInfo().username,
      privateKey: this.privateKey,
      hostKey: this.hostKey,
      dialErrorLimit: 0,
      ...changes,
    };
  }

  /** Whether there is a file of that name in the folder. */
  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  /** The text of a file in the folder. */
  file(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }
}

/** Runs one of OpenSSH's programs for users, such as ssh-keygen; its standard output. */
export function sshProgram(...words: string[]): string {
  return execFileSync(SSHD, ["client", ...words], { encoding: "utf8" });
}

/** Why there can be no server on this machine; undefined when there can. */
export function sshdMissing(): string | undefined {
  try {
    execFileSync(SSHD, ["prepare"], { encoding: "utf8", stdio: "pipe" });
    return undefined;
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr ?? error).trim();
  }
}

function configuration(folder: string, port: number, acceptEnv: readonly string[]): string {
  const lines = [
    "ListenAddress 127.0.0.1",
    `Port ${port}`,
    `HostKey ${folder}/host_key`,
    `AuthorizedKeysFile ${folder}/authorized_keys`,
    "AuthenticationMethods publickey",
    "PermitRootLogin yes",
    "StrictModes no",
    "PidFile none",
    "Subsystem sftp internal-sftp",
    // The user's own start-up files shall not run.
    `SetEnv HOME=${folder}`,
    // Tests connect many times at once; OpenSSH drops some of those by default.
    "MaxStartups 100",
    ...acceptEnv.map((name) => `AcceptEnv ${name}`),
  ];
  return lines.join("\n") + "\n";
}

/** A loopback port that nothing listens on just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
