import { pathOf, type Problem } from "./problems";
import { NAMESPACE, SECRETS, type SecretName } from "./schema";

const NAMES = Object.keys(SECRETS) as SecretName[];

/** What a header's value may hold: visible ASCII. */
const IN_A_HEADER = /^[!-~]{1,4096}$/;

/** What a secret's text must look like, where that can be told. */
const FORMS: Record<SecretName, { pattern: RegExp; allowed: string }> = {
  // A line end at the end, as `pulumi config set … < FILE` leaves it, would be a part of the password.
  apiPassword: { pattern: /^[^\p{Cc}\p{Cs}]+$/u, allowed: "a password in one line" },
  apiToken: {
    pattern: /^[!-?A-~]+@[!-?A-~]+![!-<>-~]+=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    allowed: "user@realm!id=uuid, as Proxmox VE shows it once when the token is made",
  },
  sshPrivateKey: {
    pattern: /^-----BEGIN [A-Z ]*PRIVATE KEY-----\n[\s\S]+-----END [A-Z ]*PRIVATE KEY-----\s*$/,
    allowed: "a private key file with its BEGIN and END lines",
  },
  // Both travel in a header of HTTP.
  huggingFaceToken: { pattern: IN_A_HEADER, allowed: "a token of letters, digits and signs, without spaces" },
  serviceApiKey: { pattern: IN_A_HEADER, allowed: "a key of letters, digits and signs, without spaces" },
};

/** An encrypted value of a stack file: `secure: v1:…`. */
function isEncrypted(value: unknown): boolean {
  return typeof value === "object" && value !== null && "secure" in value && typeof value.secure === "string";
}

function setSecret(name: SecretName): string {
  return name === "sshPrivateKey"
    ? `pulumi config set --secret ${NAMESPACE}:${name} < KEYFILE`
    : `pulumi config set --secret ${NAMESPACE}:${name}`;
}

/** The secrets that a stack has. */
export function presentSecrets(raw: Readonly<Record<string, unknown>>): SecretName[] {
  return NAMES.filter((name) => raw[name] !== undefined && raw[name] !== "");
}

function formProblem(name: SecretName, value: unknown, fromFile: boolean): Problem[] {
  if (isEncrypted(value)) return [];
  const path = pathOf(NAMESPACE, [name]);
  const form = FORMS[name];
  if (typeof value !== "string" || value === "" || !form.pattern.test(value)) {
    const allowed = form.allowed;
    return [
      {
        id: "wrong-secret",
        severity: "error",
        path,
        message: `must be ${allowed} (the value is not shown)`,
        fix: setSecret(name),
      },
    ];
  }
  if (!fromFile) return [];
  return [
    {
      id: "plain-secret",
      severity: "info",
      path,
      message: "stands in the stack file as plain text; everyone who reads the file has it",
      fix: setSecret(name),
    },
  ];
}

/**
 * Problems of the secrets: wrong form, none or both ways into the API.
 *
 * @param raw values by top-level key, without the namespace
 * @param fromFile whether they come from a stack file, where they should be encrypted
 */
export function secretProblems(raw: Readonly<Record<string, unknown>>, fromFile: boolean): Problem[] {
  const present = presentSecrets(raw);
  const forms = present.flatMap((name) => formProblem(name, raw[name], fromFile));
  if (present.includes("apiToken") && present.includes("apiPassword"))
    return [
      ...forms,
      {
        id: "two-api-secrets",
        severity: "error",
        path: pathOf(NAMESPACE, ["apiPassword"]),
        message: "is set, and apiToken too; only one of them can be used",
        fix: `pulumi config rm ${NAMESPACE}:apiPassword`,
      },
    ];
  if (present.includes("apiToken") || present.includes("apiPassword")) return forms;
  return [
    ...forms,
    {
      id: "missing-secret",
      severity: "warning",
      blocksUp: true,
      path: pathOf(NAMESPACE, ["apiToken"]),
      message:
        "is missing, and so is apiPassword: a preview is possible, `up` is refused until one of them is set",
      fix: `${setSecret("apiToken")} (or apiPassword)`,
    },
  ];
}
