import { z } from "zod";
import { holdsSecret } from "../secret-forms";
import { HIDDEN } from "../visible";

/**
 * What stands in a stack file for a value that nobody recorded yet. Previews, `check` and `render` work with
 * it; `up` is refused until it is filled in (see unknown-pins.ts).
 */
export const UNKNOWN = "unknown";

const OCTET = "(25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;

/** Longest word: names, versions, choices. The kernel's own limit for the name of a file is 255. */
const LONGEST_WORD = 200;

/** Longest path or address. */
const LONGEST_PATH = 1000;

/** Longest free text. */
const LONGEST_TEXT = 4096;

/**
 * Free text in one line; `allowed` completes "must be …" in the error. Every text ends up in units, files of variables,
 * command lines or reviews: what these cannot hold, or what a reader would not see, is in none.
 */
export function freeText(allowed: string, longest = LONGEST_TEXT) {
  return z
    .string()
    .max(longest, { error: `${allowed}, at most ${longest} characters`, abort: true })
    .refine((value) => !HIDDEN.test(value), {
      error: `${allowed}, without control characters and others that cannot be seen`,
      abort: true,
    });
}

/** A text that must match `pattern` as well. */
export function text(pattern: RegExp, allowed: string, longest = LONGEST_WORD) {
  return freeText(allowed, longest).regex(pattern, { error: allowed, abort: true });
}

/** As `text`, and the word `unknown`. */
export function textOrUnknown(pattern: RegExp, allowed: string, longest = LONGEST_WORD) {
  return text(new RegExp(`^${UNKNOWN}$|${pattern.source}`), `${allowed}, or unknown`, longest);
}

/** The name of an entry: it becomes a part of resource names, so that renaming it replaces things. */
export const entryName = text(
  /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/,
  "a name of lower-case letters, digits and hyphens that starts with a letter and does not end in a hyphen (at most 40)",
);

export const absolutePath = text(
  /^(\/(?!\.\.?(\/|$))[A-Za-z0-9._+@-]+)+$/,
  "an absolute path of letters, digits, . _ + @ - without . and .. as folders and without a slash at its end",
  LONGEST_PATH,
);

export const httpUrl = text(
  /^https?:\/\/[A-Za-z0-9._~:/?#[\]@!$&()*+,;=%{}-]+$/,
  "an http:// or https:// address; other characters than those of addresses as %XX",
  LONGEST_PATH,
)
  .refine((address) => URL.canParse(address), { error: "an http:// or https:// address", abort: true })
  .refine((address) => !holdsSecret(address), {
    error: "an address without user, password or token in it: previews and process lists show it to everyone",
    abort: true,
  });

/** The decoded last part of an address's path; undefined where there is none that could be a file's name. */
function lastPart(address: string): string | undefined {
  try {
    return decodeURIComponent(address.replace(/[?#].*$/, "").replace(/^.*\//, ""));
  } catch {
    return undefined;
  }
}

/** The address of a file: what is downloaded gets the name at its end. */
export const fileUrl = httpUrl.refine(
  (address) => /^[A-Za-z0-9_][A-Za-z0-9._+={}~-]*$/.test(lastPart(address) ?? ""),
  {
    error: "an address that ends in the name of a file (letters, digits, . _ + = ~ -)",
    abort: true,
  },
);

export const ipAddress = text(new RegExp(`^${IPV4}$`), "an IPv4 address");

export const ipAddressOrUnknown = textOrUnknown(new RegExp(`^${IPV4}$`), "an IPv4 address");

export const cidrOrUnknown = textOrUnknown(
  new RegExp(`^${IPV4}/([89]|[12]\\d|3[0-2])$`),
  "an IPv4 address with the prefix length of its network (a.b.c.d/24)",
);

export const hostAddressOrUnknown = textOrUnknown(
  /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/,
  "an IPv4 address or a host name",
);

export const sha256 = textOrUnknown(
  /^[0-9a-f]{64}$|^file:[A-Za-z0-9._+@/-]+$/,
  "64 lower-case hexadecimal digits, or file:PATH of a sha256sum file (letters, digits, . _ + @ - /)",
  LONGEST_PATH,
);

export const port = z.int().min(1).max(65535);

export const positiveInteger = z.int().min(1).max(1_000_000_000);

/** A map of named entries. */
export function entries<T extends z.ZodType>(entry: T) {
  return z.record(entryName, entry);
}
