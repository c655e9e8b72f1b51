/** Text that others wrote, as messages show it: in one line, short, and with nothing in it that a reader cannot see. */

/**
 * What neither a unit nor an environment file can hold or what makes a line read otherwise than it is: control
 * characters, line ends, halves of surrogate pairs, code points that are no characters, invisible ones, and those that
 * turn the direction of what follows. Letters of every alphabet, combining marks and right-to-left words are fine.
 */
export const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufdd0-\ufdef\ufff9-\ufffb]|[\ufffe\uffff]|\p{Surrogate}|[\u{1fffe}\u{1ffff}\u{2fffe}\u{2ffff}\u{3fffe}\u{3ffff}\u{10fffe}\u{10ffff}\u{e0000}-\u{e0fff}]/u;

const EVERY_HIDDEN = new RegExp(HIDDEN.source, "gu");

/** Longest piece of somebody's text in a message. */
const LONGEST = 80;

/** The text with hidden characters as escapes, cut when it is long. */
export function visible(text: string, longest = LONGEST): string {
  const characters = [...text.slice(0, longest * 2 + 2)];
  const cut = characters.length > longest ? `${characters.slice(0, longest).join("")}…` : characters.join("");
  return cut.replace(EVERY_HIDDEN, (hidden) => {
    if (hidden === "\n") return "\\n";
    if (hidden === "\t") return "\\t";
    return `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Longest line of a message. */
const LONGEST_LINE = 2000;

/** A message of several lines, each as `visible` shows it. */
export function visibleLines(text: string): string {
  return text
    .split("\n")
    .map((line) => visible(line.replaceAll("\t", "  "), LONGEST_LINE))
    .join("\n");
}
