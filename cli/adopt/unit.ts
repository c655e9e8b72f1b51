/** Hand-written units, read as systemd reads them: as far as a server's command line and environment go. */

export interface HandMadeUnit {
  /** Words of ExecStart=, variables of the unit's own Environment= filled in. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  /** Files of variables that nobody looked into. */
  readonly environmentFiles: readonly string[];
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", s: " " };

/** Words as systemd splits them: quotes around words or parts of them, backslashes before one character. */
export function words(text: string): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let position = 0; position < text.length; position += 1) {
    const character = text.charAt(position);
    if (character === "\\" && quote !== "'") {
      position += 1;
      const next = text.charAt(position);
      word = (word ?? "") + (ESCAPES[next] ?? next);
    } else if (quote !== "" ? character === quote : character === '"' || character === "'") {
      quote = quote === "" ? character : "";
      word ??= "";
    } else if (quote === "" && /\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  return word === undefined ? found : [...found, word];
}

/** Settings of [Service], in order; an empty one takes back those before it. */
function settings(text: string, name: string): string[] {
  const joined = text.replace(/\\\n\s*(?:[#;][^\n]*\n\s*)*/g, " ");
  const values: string[] = [];
  let section = "";
  for (const line of joined.split("\n").map((raw) => raw.trim())) {
    if (/^[#;]/.test(line)) continue;
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    const match = /^(\w+)\s*=\s*(.*)$/.exec(line);
    if (section !== "Service" || match?.[1] !== name) continue;
    if (match[2] === "") values.length = 0;
    else values.push(match[2] ?? "");
  }
  return values;
}

function assignments(values: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    values.flatMap(words).flatMap((word) => {
      const at = word.indexOf("=");
      return at > 0 ? [[word.slice(0, at), word.slice(at + 1).replaceAll("%%", "%")]] : [];
    }),
  );
}

/** `$NAME` as a word of its own is split into words, `${NAME}` anywhere is one text; unknown ones are empty. */
function filledIn(word: string, environment: Readonly<Record<string, string>>): string[] {
  const alone = /^\$([A-Za-z_]\w*)$/.exec(word)?.[1];
  if (alone !== undefined) return words(environment[alone] ?? "");
  return [
    word.replace(/\$\$|\$\{([A-Za-z_]\w*)\}/g, (whole, name?: string) =>
      name === undefined ? "$" : (environment[name] ?? ""),
    ),
  ];
}

/** Reads what `systemctl cat` prints of a unit. */
export function readUnit(text: string): HandMadeUnit {
  const environment = assignments(settings(text, "Environment"));
  const [first = "", ...rest] = words(settings(text, "ExecStart").at(-1) ?? "");
  const command = [first.replace(/^[-@:+!|]+/, ""), ...rest]
    .map((word) => word.replaceAll("%%", "%"))
    .flatMap((word) => filledIn(word, environment));
  return {
    command,
    environment,
    user: settings(text, "User").at(-1),
    environmentFiles: settings(text, "EnvironmentFile").map((file) => file.replace(/^-/, "")),
  };
}

export interface ServerCommand {
  /** Interpreter or program that runs the server. */
  readonly program: string;
  /** Arguments of SGLang's server. */
  readonly args: readonly string[];
  /** Variables that `env NAME=VALUE …` sets in front. */
  readonly environment: Readonly<Record<string, string>>;
}

/** SGLang's server in a command line: `python -m sglang.launch_server …` or `sglang serve …`; undefined: none there. */
export function serverCommand(command: readonly string[]): ServerCommand | undefined {
  const start = command.findIndex(
    (word, index) =>
      (word === "sglang.launch_server" && command[index - 1] === "-m") ||
      word.endsWith("/sglang/launch_server.py") ||
      (word === "serve" && /(^|\/)sglang$/.test(command[index - 1] ?? "")),
  );
  if (start < 0) return undefined;
  const before = command.slice(0, start).filter((word) => word !== "-m");
  const program = before.find((word) => /(^|\/)(python[\d.]*|sglang)$/.test(word)) ?? before[0] ?? "";
  const isEnv = /(^|\/)env$/.test(before[0] ?? "");
  return {
    program,
    args: command.slice(start + 1),
    environment: isEnv
      ? assignments(before.filter((word) => /^\w+=/.test(word)).map((word) => `'${word}'`))
      : {},
  };
}
