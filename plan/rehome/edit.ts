/**
 * Adds entries to a stack file. Every byte that is there stays: comments, quotes and spacing are their owner's. The YAML
 * library says where things are; it would set comments and lists anew if it wrote the whole file.
 */
import { isMap, isSeq, parseDocument, Document, visit, type Node, type Pair, type YAMLMap } from "yaml";
import { NAMESPACE } from "../../config/schema";

/** One entry that is added: a key in a mapping, or an item of a list where `key` is undefined. */
export interface Addition {
  /** Where, below `config:`, beginning with a top-level key without its namespace. */
  readonly path: readonly string[];
  readonly key?: string;
  readonly value: unknown;
}

/** YAML of a value: short lists of plain values in one line, as people write them. */
function written(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Seq: (_, list) => {
      if (list.items.every((item) => !isMap(item) && !isSeq(item))) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).replace(/\n$/, "");
}

function indented(text: string, columns: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(columns));
}

/** Column of a node's first character. */
function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf("\n", offset - 1) + 1);
}

/** Where the line of a node's end ends: behind a comment that follows it. */
function endOfLine(text: string, end: number): number {
  // A block ends behind its line.
  if (text[end - 1] === "\n") return end - 1;
  const next = text.indexOf("\n", end);
  return next < 0 ? text.length : next;
}

function rangeOf(node: Node): readonly [number, number, number] {
  if (node.range === undefined || node.range === null)
    throw new Error("a node of the stack file has no place");
  return node.range;
}

function insert(text: string, at: number, lines: string): string {
  return `${text.slice(0, at)}\n${lines}${text.slice(at)}`;
}

/** The last item's value, or its key where it has none. */
function lastNode(items: readonly Pair[]): Node {
  const pair = items.at(-1);
  return (pair?.value ?? pair?.key) as Node;
}

function intoBlockMap(text: string, map: YAMLMap, key: string, value: unknown): string {
  const first = map.items[0]?.key as Node;
  const column = columnOf(text, rangeOf(first)[0]);
  return insert(
    text,
    endOfLine(text, rangeOf(lastNode(map.items))[1]),
    indented(written({ [key]: value }), column),
  );
}

/** Replaces a node that lies in one line, `{…}` or nothing, by a block of its entries and one more. */
function asBlock(text: string, holder: YAMLMap, key: string, entries: unknown): string {
  const pair = holder.items.find((item) => (item.key as { value?: unknown }).value === key);
  const name = pair?.key as Node;
  const column = columnOf(text, rangeOf(name)[0]);
  const end =
    pair?.value === null || pair?.value === undefined ? rangeOf(name)[1] + 1 : rangeOf(pair.value as Node)[1];
  const block = indented(written({ [key]: entries }), column).trimStart();
  return text.slice(0, rangeOf(name)[0]) + block + text.slice(end);
}

function intoSequence(text: string, node: Node, value: unknown): string {
  if (!isSeq(node)) throw new Error("a list of the stack file is none");
  const last = node.items.at(-1) as Node | undefined;
  if (node.flow === true || last === undefined) {
    const close = text.lastIndexOf("]", rangeOf(node)[1]);
    const item = new Document(value);
    visit(item, { Map: (_, map) => void (map.flow = true) });
    const separator = last === undefined ? "" : ", ";
    return text.slice(0, close) + separator + item.toString({ lineWidth: 0 }).trim() + text.slice(close);
  }
  // The dash stands two columns before a plain item.
  const column = text.lastIndexOf("-", rangeOf(last)[0]) - (text.lastIndexOf("\n", rangeOf(last)[0]) + 1);
  return insert(text, endOfLine(text, rangeOf(last)[1]), indented(written([value]), column));
}

/** The text of a stack file with one entry more. */
function added(text: string, { path, key, value }: Addition): string {
  const document = parseDocument(text);
  const config = document.get("config", true);
  if (!isMap(config)) throw new Error("the stack file has no mapping config");
  const [top = "", ...rest] = path;
  const place = [`${NAMESPACE}:${top}`, ...rest];
  const node = config.getIn(place, true) as Node | undefined;
  if (key === undefined) {
    if (node !== undefined && isSeq(node)) return intoSequence(text, node, value);
    return added(text, { path: path.slice(0, -1), key: path.at(-1) ?? "", value: [value] });
  }
  if (node !== undefined && isMap(node) && node.flow !== true && node.items.length > 0)
    return intoBlockMap(text, node, key, value);
  const holder = place.length === 1 ? config : (config.getIn(place.slice(0, -1), true) as YAMLMap);
  const present = holder.has(place.at(-1) ?? "");
  if (!present) {
    // An empty line before a new top-level key, as between the others.
    const grown = intoBlockMap(text, holder, place.at(-1) ?? "", { [key]: value });
    return place.length > 1 ? grown : grown.replace(`\n  ${place[0] ?? ""}:`, `\n\n  ${place[0] ?? ""}:`);
  }
  const entries = {
    ...((document.toJS() as { config: Record<string, object> }).config[place[0] ?? ""] ?? {}),
  };
  if (place.length > 1)
    throw new Error(`${path.join(".")} of the stack file is written in one line: write it as a block`);
  return asBlock(text, holder, place[0] ?? "", { ...entries, [key]: value });
}

/** The text of a stack file with entries added, one after another. */
export function withAdditions(text: string, additions: readonly Addition[]): string {
  return additions.reduce(added, text);
}
