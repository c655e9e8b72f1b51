/** Proxmox VE's guest files: `name: value` lines, then snapshots in sections that do not matter here. */

export interface GuestConfiguration {
  /** Value of an option; undefined when it is not set. */
  option(name: string): string | undefined;
  /** Options whose name matches, in the file's order. */
  options(pattern: RegExp): { readonly name: string; readonly value: string }[];
}

/** Reads the current part of a file such as /etc/pve/lxc/129.conf. */
export function parseGuest(text: string): GuestConfiguration {
  const current = text.split(/^\[/m)[0] ?? "";
  const lines = current.split("\n").flatMap((line) => {
    const match = /^([A-Za-z][\w.-]*):\s*(.*)$/.exec(line);
    return match?.[1] === undefined ? [] : [{ name: match[1], value: (match[2] ?? "").trim() }];
  });
  return {
    option: (name) => lines.find((line) => line.name === name)?.value,
    options: (pattern) => lines.filter((line) => pattern.test(line.name)),
  };
}

/** A property string such as `name=eth0,ip=10.0.0.2/24`; a part without a name is under `""`. */
export function properties(value: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    value.split(",").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? ["", part] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}

const UNITS: Readonly<Record<string, number>> = { K: 1 / (1024 * 1024), M: 1 / 1024, G: 1, T: 1024 };

/** A size such as `16G` in GiB, rounded up; undefined when it cannot be told. */
export function sizeGiB(size: string | undefined): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([KMGT])?$/.exec(size ?? "");
  if (match === null) return undefined;
  return Math.ceil(Number(match[1]) * (UNITS[match[2] ?? ""] ?? 1 / 1024 ** 3));
}

/** The notes of a guest: comment lines before the options, percent-encoded as Proxmox VE does; empty: none. */
export function descriptionOf(text: string): string {
  const lines = (text.split(/^\[/m)[0] ?? "").split("\n");
  const encoded = lines.filter((line) => line.startsWith("#")).map((line) => line.slice(1));
  try {
    return encoded.map(decodeURIComponent).join("\n").trimEnd();
  } catch {
    // Somebody wrote a percent sign by hand.
    return encoded.join("\n").trimEnd();
  }
}

/** A device node that a container gets by devN. */
export interface GuestDevice {
  readonly path: string;
  /** Octal, four digits. */
  readonly mode: string;
}

/** NVIDIA's device nodes of a container, in the order of their numbers. */
export function nvidiaDevices(guest: GuestConfiguration): GuestDevice[] {
  return guest
    .options(/^dev\d+$/)
    .sort((a, b) => Number(a.name.slice(3)) - Number(b.name.slice(3)))
    .flatMap(({ value }) => {
      const parts = properties(value);
      const path = parts["path"] ?? parts[""] ?? "";
      // Without a mode, Proxmox VE makes nodes that only their owner and group may use.
      return path.startsWith("/dev/nvidia") ? [{ path, mode: parts["mode"] ?? "0660" }] : [];
    });
}
