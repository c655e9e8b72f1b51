import fc from "fast-check";

/** The file that a text makes when a shell runs a part of it; tests look for it in the folder in which they run things. */
export const CANARY = "canary-was-run";

/** Texts that break what is quoted carelessly. */
const HOSTILE = [
  `$(touch ${CANARY})`,
  `\`touch ${CANARY}\``,
  `'; touch ${CANARY}; '`,
  `"; touch ${CANARY}; "`,
  `a; touch ${CANARY} #`,
  `a && touch ${CANARY}`,
  `a | touch ${CANARY}`,
  `a\ntouch ${CANARY}`,
  `a\nExecStartPre=/bin/touch ${CANARY}`,
  `x"\nA="b`,
  `\${IFS}$HOME %h %n %% $$`,
  "back\\slash at the end\\",
  "\\n \\x41 \\",
  "it's \"both\" 'kinds'",
  "-rf",
  "--config=/etc/passwd",
  " leading and trailing ",
  "",
  "\t",
  "\0",
  "a\0b",
  "\u001b[31mred",
  "e\u0301 o\u0308\u0323 combining",
  "שלום مرحبا right to left",
  "\u202egnirts desrever",
  "zero\u200bwidth",
  "line\u2028separator",
  "half \ud800 of a pair",
  "\ufffe no character",
  "🦀 𝒳",
  "#comment",
  ";comment",
  "key: value",
  "- item",
  "&anchor *alias !tag",
  "{{ template }} ${{ expression }}",
  "```\nfence",
  "<!-- comment --><script>",
  "| cell | `code`",
  "*.{a,b} [1-9] ~ !!",
  "../../../etc/passwd",
  "constructor",
  "__proto__",
  "null",
  "0666",
  "1e999",
  `${"x".repeat(10_000)}`,
  `$(touch ${CANARY})${" y".repeat(5_000)}`,
];

/** Any text, hostile ones often. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...HOSTILE), fc.constantFrom(...HOSTILE)).map(([a, b]) => `${a}${b}`),
  },
);

/** As a program gets it from a file or a command line: halves of surrogate pairs are replaced. */
export function encoded(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
