/** systemd's own quoting: of command lines in a unit, and of values in an environment file. */

function refuseControlCharacters(text: string): void {
  // eslint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(text)) {
    throw new Error(`a unit cannot hold control characters: ${JSON.stringify(text)}`);
  }
}

/**
 * One argument of an Exec line. `%` and `$` are doubled because systemd expands specifiers and variables there.
 *
 * @throws Error for control characters, which a unit file cannot hold
 */
export function execArgument(argument: string): string {
  refuseControlCharacters(argument);
  const escaped = argument.replaceAll("%", "%%").replaceAll("$", "$$$$");
  if (/^[A-Za-z0-9_@%+=:,./$-]+$/.test(escaped)) return escaped;
  return `"${escaped.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/**
 * One line of an environment file. Nothing is expanded there, so that only quote and backslash need care.
 *
 * @throws Error for control characters
 */
export function environmentLine(name: string, value: string): string {
  refuseControlCharacters(value);
  return `${name}="${value.replace(/["\\$`]/g, (character) => `\\${character}`)}"`;
}

/**
 * A value of a unit setting outside of Exec lines: specifiers are expanded there too, and a single backslash at the end
 * would make the next line a part of the value.
 */
export function unitText(text: string): string {
  refuseControlCharacters(text);
  const backslashes = /\\*$/.exec(text)?.[0].length ?? 0;
  return `${text.replaceAll("%", "%%")}${backslashes % 2 === 1 ? "\\" : ""}`;
}
