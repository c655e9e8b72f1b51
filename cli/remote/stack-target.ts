import { PROJECT_DIRECTORY } from "../../config/load";
import type { StackConfig } from "../../config/schema";
import { secretOf } from "../stack-secrets";
import type { SshTarget } from "./ssh";

/**
 * A stack's host, reached as the provider reaches it: with the stack's key, or else the agent, and its host key.
 *
 * @throws SecretError when the key is encrypted and cannot be decrypted here
 */
export function stackTarget({ host }: StackConfig, file: string): SshTarget {
  const privateKey = secretOf(file, "sshPrivateKey", PROJECT_DIRECTORY);
  return {
    address: host.address,
    port: host.sshPort,
    asProvider: true,
    ...(host.hostKey === "insecure" ? {} : { hostKey: host.hostKey }),
    ...(privateKey === undefined ? {} : { privateKey }),
  };
}
