import { z } from "zod";
import { entryName, hostAddressOrUnknown, port, positiveInteger, text, textOrUnknown } from "./fields";

const api = z
  .strictObject({
    port: port
      .default(8006)
      .describe("TCP port of the Proxmox VE API (pveproxy). A change only alters how the API is reached."),
    tls: z
      .enum(["verify", "insecure"])
      .default("verify")
      .describe(
        "Whether the API's certificate is verified. `insecure` accepts any certificate, so that anyone between " +
          "you and the host can read the password or token: for self-signed certificates on a trusted network.",
      ),
    user: text(/^[a-z0-9._-]+@[a-z0-9._-]+$/i, "user@realm, such as root@pam")
      .default("root@pam")
      .describe("User of the API for `apiPassword`. With `apiToken`, the user is a part of the token.")
      .meta({ examples: ["root@pam"] }),
  })
  .describe("How the Proxmox VE API is reached.");

/** Key `host`: the Proxmox VE host that the stack stands for. */
export const hostSchema = z
  .strictObject({
    node: entryName
      .describe(
        "Name of the Proxmox VE node (`hostname` on the host). It is a part of every resource: a change " +
          "replaces the containers, so that it is refused for protected ones.",
      )
      .meta({ examples: ["kpro5"] }),
    address: hostAddressOrUnknown
      .describe(
        "Address of the host, for SSH and for the API. A change alone re-runs nothing: it is only where the host is found.",
      )
      .meta({ examples: ["10.1.2.5"] }),
    sshPort: port.default(22).describe("TCP port of the host's SSH server."),
    hostKey: textOrUnknown(
      /^(insecure|(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+=*)$/,
      "the host's public SSH key (`ssh-ed25519 AAAA…`, without a comment), or insecure",
      4096,
    )
      .describe(
        "Public SSH key that the host must prove to have; `ssh-keyscan -t ed25519 ADDRESS` prints it (compare it " +
          "with /etc/ssh/ssh_host_ed25519_key.pub on the host's console). `insecure` accepts any key: anyone who can answer " +
          "for the address then gets root's commands and secrets.",
      )
      .meta({
        examples: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFqvyAFskyoBX8N43V9bRkX3DGEqpY9TnrdvHVATjmBQ"],
      }),
    reboot: z
      .enum(["allow", "never"])
      .default("never")
      .describe(
        "Whether an `up` may reboot the host when the driver needs it (nouveau loaded, an old driver that others use, a kernel without headers). A " +
          "reboot stops every guest of the host. With `never`, `up` stops there and says what is needed and how to go on.",
      ),
    rebootTimeoutMinutes: positiveInteger
      .max(120)
      .default(15)
      .describe("Minutes to wait for the host to come back after a reboot, before `up` fails."),
    api: api.prefault({}),
  })
  .describe("The Proxmox VE host that this stack stands for: one stack, one host.");

export type HostConfig = z.output<typeof hostSchema>;
