/** Pieces of pull-request comments. */

/** The longest text that GitHub takes as a comment. */
export const COMMENT_LIMIT = 65_536;

/** A line that no reader sees, by which a comment is found again and renewed in place. */
export function marker(kind: "preview" | "rendered", stack: string): string {
  return `<!-- proxmox-gpu-stack ${kind} ${stack} -->`;
}

/** A block of code whose fence is longer than any in its text. */
export function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** A part that is folded until somebody opens it. */
export function folded(summary: string, content: string): string {
  return `<details><summary>${summary}</summary>\n\n${content}\n\n</details>`;
}

/** "1 file", "2 files". */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

export interface Block {
  /** What the block is about, for the list of those that did not fit. */
  readonly title: string;
  readonly whole: string;
  /** The block in at most that many characters; undefined when that is too little to say anything. */
  readonly cut: (room: number) => string | undefined;
}

/** Room for the list of what did not fit. */
const RESERVE = 4_000;

/** A block that must be cut still gets this much; rather other blocks are left out. */
const LEAST_SHARE = 2_000;

/** How long each block may be so that all together are at most `room`: short ones leave their share to long ones. */
function fairShare(lengths: readonly number[], room: number): number {
  let left = room;
  const ascending = [...lengths].sort((a, b) => a - b);
  for (const [index, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (length > share) return Math.max(share, LEAST_SHARE);
    left -= length;
  }
  return room;
}

/**
 * Puts blocks below a head until a comment is full: long ones are cut first. What is left out is named at the end, so that
 * nobody takes the rest for all.
 *
 * @param where how to get what is left out
 */
export function fitted(
  head: string,
  blocks: readonly Block[],
  where: string,
  limit: number = COMMENT_LIMIT,
): string {
  /** An empty line before a block. */
  const GAP = 2;
  const room = limit - RESERVE - head.length;
  const share = fairShare(
    blocks.map(({ whole }) => whole.length + GAP),
    room,
  );
  let text = head;
  const missing: string[] = [];
  for (const { title, whole, cut } of blocks) {
    const most = Math.min(share, limit - RESERVE - text.length) - GAP;
    const added = whole.length <= most ? whole : cut(most);
    if (added === undefined) missing.push(title);
    else text += `\n\n${added}`;
  }
  if (missing.length === 0) return `${text}\n`;
  const names = `Left out, because a comment holds ${limit} characters: ${missing.join(", ")}`;
  const longest = RESERVE - where.length - 20;
  return `${text}\n\n> ${names.length > longest ? `${names.slice(0, longest)}…` : names}. ${where}\n`;
}

/** A folded block of code that is cut at a line's end where there is no room for all. */
export function cuttable(title: string, summary: string, language: string, text: string): Block {
  /** Below this, a cut text says nothing. */
  const LEAST = 400;
  return {
    title,
    whole: folded(summary, fenced(language, text)),
    cut: (room) => {
      const frame = folded(summary, fenced(language, "")).length + 80;
      if (room - frame < LEAST) return undefined;
      const cut = text.slice(0, text.lastIndexOf("\n", room - frame));
      const left = text.replace(/\n$/, "").split("\n").length - cut.split("\n").length;
      return folded(summary, `${fenced(language, cut)}\n\n${counted(left, "line")} more`);
    },
  };
}

/** A block that is shown whole or not at all. */
export function uncut(title: string, text: string): Block {
  return { title, whole: text, cut: () => undefined };
}
