/** What systemd reads out of a unit and of an environment file: systemd.syntax(7), systemd.service(5), environment.d(5). */

export interface Setting {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** The settings of a unit: comments left out, continued lines joined. */
export function settingsOf(unit: string): Setting[] {
  const logical: string[] = [];
  let continued = "";
  for (const line of unit.split("\n")) {
    // A comment in the middle of a continued line is left out as well.
    if (/^\s*[#;]/.test(line)) continue;
    // An escaped backslash at the end continues nothing.
    if ((/\\*$/.exec(line)?.[0].length ?? 0) % 2 === 1) continued += `${line.slice(0, -1)} `;
    else {
      logical.push(continued + line);
      continued = "";
    }
  }
  let section = "";
  return logical.flatMap((line) => {
    const trimmed = line.trim();
    if (trimmed === "") return [];
    const header = /^\[([^\]]+)\]$/.exec(trimmed)?.[1];
    if (header !== undefined) {
      section = header;
      return [];
    }
    const equals = trimmed.indexOf("=");
    if (equals < 0) throw new Error(`systemd would ignore this line: ${line}`);
    return [{ section, key: trimmed.slice(0, equals).trim(), value: trimmed.slice(equals + 1).trim() }];
  });
}

/** Words of an Exec line, quotes and escapes taken away, before anything in them is expanded. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let position = 0; position < line.length; position += 1) {
    const character = line[position] as string;
    if (character === "\\") {
      position += 1;
      const escaped = line[position];
      if (escaped !== "\\" && escaped !== '"' && escaped !== "'")
        throw new Error(`an escape \\${String(escaped)}`);
      word = (word ?? "") + escaped;
    } else if (quote !== "") {
      if (character === quote) quote = "";
      else word += character;
    } else if ((character === '"' || character === "'") && word === undefined) {
      quote = character;
      word = "";
    } else if (character === '"' || character === "'") throw new Error("a quote inside of a word");
    else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === ";" && word === undefined && /^;(\s|$)/.test(line.slice(position)))
      throw new Error("a second command");
    else word = (word ?? "") + character;
  }
  if (quote !== "") throw new Error("a quote without end");
  return word === undefined ? words : [...words, word];
}

/** The argument list that an Exec line starts. Throws where systemd would put anything else in its place. */
export function argumentsOf(line: string): string[] {
  if (/^[-@:+!]/.test(line)) throw new Error("a prefix before the program");
  return wordsOf(line).map((word) => {
    const specifiers = word.replace(/%(.)?/g, (_, next: string | undefined) => {
      if (next !== "%") throw new Error(`a specifier %${String(next)}`);
      return "%";
    });
    return specifiers.replace(/\$(.)?/g, (_, next: string | undefined) => {
      if (next !== "$") throw new Error(`a variable $${String(next)}`);
      return "$";
    });
  });
}

/** The variables of an environment file in which every value stands in double quotes. */
export function variablesOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line !== "" && !/^\s*[#;]/.test(line));
  return Object.fromEntries(
    lines.map((line) => {
      const match = /^([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"$/su.exec(line);
      if (match === null) throw new Error(`no assignment in double quotes: ${line}`);
      // systemd and a shell agree on which escapes there are.
      return [match[1] as string, (match[2] as string).replace(/\\(["\\$`])/g, "$1")];
    }),
  );
}
