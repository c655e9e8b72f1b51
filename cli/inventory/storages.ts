/** The storages of a host, from /etc/pve/storage.cfg and `pvesm status`. */

export interface Storage {
  readonly name: string;
  readonly type: string;
  readonly content: readonly string[];
  /** Where the files of a storage of directories lie. */
  readonly path: string | undefined;
  /** Free room; undefined when the host does not say. */
  readonly freeKiB: number | undefined;
  /** False when it is switched off, or not meant for this node. */
  readonly usable: boolean;
}

/** Content that Proxmox VE assumes for a storage that states none. */
const DEFAULT_CONTENT = "images,rootdir";

/** `pvesm status`: name, type, status, total, used, available, percentage. */
function statusOf(status: string): Map<string, { active: boolean; freeKiB: number }> {
  const rows = status
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells.length >= 6);
  return new Map(
    rows.map((cells) => [cells[0] ?? "", { active: cells[2] === "active", freeKiB: Number(cells[5]) }]),
  );
}

export function parseStorages(configuration: string, status: string, node: string): Storage[] {
  const known = statusOf(status);
  return configuration.split(/\n(?=\S)/).flatMap((section) => {
    const [head = "", ...lines] = section.split("\n");
    const match = /^(\w+):\s*(\S+)$/.exec(head.trim());
    if (match?.[1] === undefined || match[2] === undefined) return [];
    const options = Object.fromEntries(
      lines
        .map((line) => line.trim())
        .map((line) => [line.split(/\s+/)[0] ?? "", line.replace(/^\S+\s*/, "")]),
    );
    const nodes = options["nodes"]?.split(",");
    const now = known.get(match[2]);
    return [
      {
        name: match[2],
        type: match[1],
        content: (options["content"] ?? DEFAULT_CONTENT).split(",").map((word) => word.trim()),
        path: options["path"],
        freeKiB: now?.freeKiB,
        usable: !("disable" in options) && (nodes?.includes(node) ?? true) && (now?.active ?? true),
      },
    ];
  });
}
