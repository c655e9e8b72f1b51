import { z } from "zod";
import { HIDDEN } from "../visible";
import {
  absolutePath,
  cidrOrUnknown,
  entries,
  entryName,
  fileUrl,
  ipAddress,
  ipAddressOrUnknown,
  positiveInteger,
  sha256,
  text,
} from "./fields";

const storage = text(/^[A-Za-z][A-Za-z0-9._-]*$/, "the name of a Proxmox VE storage (`pvesm status`)");

const template = z
  .strictObject({
    url: fileUrl
      .describe(
        "Where the container template is downloaded from, by the host. Its file name is the template's id in the storage. Only " +
          "a new container is made from it: a change never touches an existing one.",
      )
      .meta({ examples: ["http://download.example.org/debian-12-standard_12.12-1_amd64.tar.zst"] }),
    sha256: sha256
      .describe("Checksum of the template, as for the driver's installer. Another file is refused.")
      .meta({ examples: ["file:checksums/templates.sha256"] }),
    storage: storage
      .default("local")
      .describe("Proxmox VE storage that keeps the template; its content types must hold `vztmpl`."),
  })
  .describe("Template that the container is made from.");

const rootDisk = z
  .strictObject({
    storage: storage
      .describe("Proxmox VE storage of the root disk. A change would destroy the container: it is refused.")
      .meta({ examples: ["local-lvm"] }),
    sizeGiB: positiveInteger.describe(
      "Size of the root disk in GiB: system, driver libraries, Python environments (a CUDA environment takes 10 to 15 GiB, and " +
        "`keep` of them stay). It can grow, never shrink: `up` refuses less than it has.",
    ),
  })
  .describe("Root disk of the container: where it lies and how large it is.");

const network = z
  .strictObject({
    bridge: text(/^[A-Za-z][A-Za-z0-9._-]{0,14}$/, "the name of a bridge of the host")
      .default("vmbr0")
      .describe("Bridge of the host that the container's eth0 is connected to."),
    address: cidrOrUnknown
      .describe(
        "IPv4 address of eth0 with the prefix length. A change is applied to the container and changes the endpoint.",
      )
      .meta({ examples: ["10.77.0.129/24"] }),
    gateway: ipAddressOrUnknown
      .describe("IPv4 address of the default gateway.")
      .meta({ examples: ["10.77.0.1"] }),
    dns: z
      .array(ipAddress)
      .default([])
      .describe("IPv4 addresses of the DNS servers. Empty: the host's own settings.")
      .meta({ examples: [["10.77.0.1"]] }),
    searchDomain: text(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, "a domain name")
      .optional()
      .describe("DNS search domain."),
  })
  .describe("Network of the container: one interface, a fixed address.");

const mount = z
  .strictObject({
    source: absolutePath.describe(
      "Directory on the host. It is made if it is not there, it stays when the container goes, and it is never part of the " +
        "container's backups (Proxmox VE backs up volumes, not bind mounts).",
    ),
    target: absolutePath.describe("Where it appears in the container."),
    readOnly: z
      .boolean()
      .default(true)
      .describe("Whether the container may only read it. Models are only read: leave it `true` for them."),
  })
  .describe("A directory of the host that the container sees.");

/** Proxmox VE counts in MiB. */
const gibibytes = z
  .number()
  .max(1_000_000)
  .multipleOf(1 / 1024, { error: "GiB in whole MiB: 96, 0.5 (512 MiB), 1.953125 (2000 MiB)" });

const sshKey = text(
  /^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+=*( .*)?$/,
  "a public SSH key in one line",
  4096,
);

/** Proxmox VE takes 8 KiB of notes. */
const notes = z
  .string()
  .max(8192, { error: "a text of at most 8192 characters", abort: true })
  .refine((text) => text.split("\n").every((line) => !HIDDEN.test(line.replaceAll("\t", ""))), {
    error: "a text without control characters and others that cannot be seen, but for line ends and tabs",
  });

/** One LXC container. */
const container = z
  .strictObject({
    vmId: z
      .int()
      .min(100)
      .max(999_999_999)
      .describe("Id of the container on the host. A change would destroy the container: it is refused.")
      .meta({ examples: [129] }),
    adopt: z
      .boolean()
      .default(false)
      .describe(
        "`true` says that the container exists already and comes under this stack: it is put into the stack's state with " +
          "`pulumi import` (docs/how-to/adopt-a-container.md), never replaced, and keeps its data. Take it out again afterwards. " +
          "Without it, an id that somebody else uses is refused before anything is done to the container.",
      ),
    hostname: entryName
      .optional()
      .describe("Host name in the container. Default: the container's name here."),
    template,
    unprivileged: z
      .boolean()
      .default(true)
      .describe(
        "Whether root in the container is an ordinary user of the host. `false` gives a break-out root on the host. A change would " +
          "destroy the container: it is refused.",
      ),
    cores: positiveInteger.max(8192).describe("Number of CPU cores the container may use."),
    memoryGiB: gibibytes
      .min(0.25)
      .describe(
        "Memory limit in GiB. A server needs several GiB per GPU besides the model, and loading goes through the page cache.",
      ),
    swapGiB: gibibytes
      .min(0)
      .default(0)
      .describe(
        "Swap limit in GiB. 0: none, a server that swaps is useless. An adopted container may have 0.5, Proxmox VE's own default.",
      ),
    rootDisk,
    network,
    gpus: z
      .array(entryName)
      .default([])
      .describe(
        "Names of the cards (key `gpus`) that are passed in. They are resolved to device nodes on the host, by UUID, at every boot.",
      ),
    shared: z
      .boolean()
      .default(false)
      .describe(
        "Whether the cards of this container may be in other containers too (all of them must say so). The servers in them then compete " +
          "for the same GPU memory.",
      ),
    deviceMode: text(/^0[0-7]{3}$/, 'an octal mode of four digits in quotes, such as "0666"')
      .default("0666")
      .describe(
        "Access mode of the device nodes in the container: its cards, nvidiactl, nvidia-uvm and nvidia-uvm-tools. Not nvidia-modeset " +
          "(displays) nor nvidia-caps (MIG): CUDA needs neither. `0666` lets every user of the container use the GPUs, as NVIDIA's own " +
          "nodes do; a service that does not run as root needs it. Keep the quotes: YAML reads 0666 as a number.",
      ),
    mounts: z.array(mount).default([]).describe("Directories of the host that the container sees."),
    startOnBoot: z.boolean().default(true).describe("Whether the container starts with the host."),
    startupOrder: positiveInteger
      .optional()
      .describe("Place in the order in which the host starts its guests; a smaller number starts earlier."),
    tags: z
      .array(text(/^[a-z0-9][a-z0-9_.+-]*$/, "a tag of lower-case letters, digits, _ . + -"))
      .default([])
      .describe("Tags in Proxmox VE."),
    description: notes
      .optional()
      .describe("Notes shown in Proxmox VE, in Markdown; several lines are possible."),
    sshKeys: z
      .array(sshKey)
      .default([])
      .describe(
        "Public SSH keys that may log in as root in the container. The stack itself needs none: it uses `pct exec`.",
      ),
    protect: z
      .boolean()
      .default(true)
      .describe(
        "Whether Pulumi refuses to delete or replace the container. To take it away, set it to false and run `up`, then `destroy`.",
      ),
  })
  .describe("One LXC container with GPUs.");

/** Key `containers`. */
export const containersSchema = entries(container).describe("LXC containers of the host, by name.");

export type ContainerConfig = z.output<typeof container>;
export type MountConfig = z.output<typeof mount>;
