/** Secrets that can be told by how they look, so that one in an ordinary field is refused and never shown. */

/** What a text is, by its form. */
const FORMS: Readonly<Record<string, RegExp>> = {
  "a private key": /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  "a token of the model hub": /\bhf_[A-Za-z0-9]{20,}/,
  "a token of Proxmox VE's API": /\b[\w.-]+@[\w.-]+![\w.-]+=[0-9a-f]{8}-[0-9a-f]{4}-/,
  "an address with a password": /:\/\/[^\s/?#@"']*:[^\s/?#@"']+@/,
};

/** Names of a query's parameters that hold a secret, such as `token` or `X-Amz-Signature`. */
const PARAMETER = /(^|[-_.])(token|key|secret|password|passwd|sig|signature|credential)$/i;

/** Whether an address holds a user, a password or a token. */
export function holdsSecret(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, password, searchParams } = new URL(address);
  return username !== "" || password !== "" || [...searchParams.keys()].some((name) => PARAMETER.test(name));
}

/** What kind of secret stands in a text; undefined when none is seen. */
export function secretIn(text: string): string | undefined {
  const form = Object.entries(FORMS).find(([, pattern]) => pattern.test(text))?.[0];
  if (form !== undefined) return form;
  const addresses = text.match(/https?:\/\/[^\s"'<>`]+/g) ?? [];
  return addresses.some(holdsSecret) ? "an address with a token" : undefined;
}
