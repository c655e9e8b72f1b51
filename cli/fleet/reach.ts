import { connect } from "node:net";
import type { StackConfig } from "../../config/schema";

const LIMIT_MS = 10_000;

/** Why a host's SSH port takes no connection; undefined: it does. Pulumi's provider dials ten times before it says so. */
export function whyUnreachable({ host }: StackConfig): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.address, port: host.sshPort, timeout: LIMIT_MS });
    const end = (reason?: string): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.on("connect", () => end());
    socket.on("timeout", () => end(`no answer within ${LIMIT_MS / 1000} seconds`));
    socket.on("error", ({ message }) => end(message));
  });
}
