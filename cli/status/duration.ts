const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Seconds for a person, in the largest unit that fits twice: `90 s`, `45 min`, `3 d`. */
export function duration(seconds: number): string {
  const [name, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${name}`;
}
