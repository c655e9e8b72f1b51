import { closest, distance } from "fastest-levenshtein";

/** The name that was probably meant, or undefined when none is near. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const candidate = closest(word.toLowerCase(), [...names]);
  const limit = Math.max(2, Math.floor(candidate.length / 3));
  return distance(word.toLowerCase(), candidate.toLowerCase()) <= limit ? candidate : undefined;
}

/** "a, b or c"; the word "none" for an empty list. */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "none";
  if (names.length === 1) return names[0] as string;
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1) as string}`;
}
