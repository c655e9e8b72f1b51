import { z } from "zod";

/**
 * What stands in a stack file for a value that nobody recorded yet. Previews, `check` and `render` work with
 * it; `up` is refused until it is filled in (see unknown-pins.ts).
 */
export const UNKNOWN = "unknown";

const OCTET = "(25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;

/** A string that must match `pattern`; `allowed` completes "must be …" in the error. */
export function text(pattern: RegExp, allowed: string) {
  return z.string().regex(pattern, { error: allowed });
}

/** As `text`, and the word `unknown`. */
export function textOrUnknown(pattern: RegExp, allowed: string) {
  return text(new RegExp(`^${UNKNOWN}$|${pattern.source}`), `${allowed}, or unknown`);
}

/** The name of an entry: it becomes a part of resource names, so that renaming it replaces things. */
export const entryName = text(
  /^[a-z][a-z0-9-]{0,39}$/,
  "a name of lower-case letters, digits and hyphens that starts with a letter (at most 40)",
);

export const absolutePath = text(
  /^(\/[A-Za-z0-9._+@-]+)+$/,
  "an absolute path of letters, digits, . _ + @ - without a slash at its end",
);

export const httpUrl = text(/^https?:\/\/[^\s]+$/, "an http:// or https:// address");

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
  /^[0-9a-f]{64}$|^file:[^\s]+$/,
  "64 lower-case hexadecimal digits, or file:PATH of a sha256sum file",
);

export const port = z.int().min(1).max(65535);

export const positiveInteger = z.int().min(1).max(1_000_000_000);

/** A map of named entries. */
export function entries<T extends z.ZodType>(entry: T) {
  return z.record(entryName, entry);
}
