// Property values as the engine sends them: plain JSON, in which an object with the key SIGNATURE stands for
// something that JSON has no form for.
"use strict";

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
const ASSET = "c44067f5952c0a294b673a41bacd8c17";
const ARCHIVE = "0def7320c3a5731c473e5ecbe6d01bc7";

/** Stands for a value that only the update itself will bring. */
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** What a marked object stands for: SECRET, ASSET or ARCHIVE; undefined for a plain value. */
const signature = (value) => (isObject(value) ? value[SIGNATURE] : undefined);

const isSecret = (value) => signature(value) === SECRET;
const secret = (value) => ({ [SIGNATURE]: SECRET, value });

/** Absent and null are the same to a provider. */
const isSet = (value) => value !== undefined && value !== null;

/** The value without its secret marks, however deep. */
function plain(value) {
  if (isSecret(value)) return plain(value.value);
  if (Array.isArray(value)) return value.map(plain);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, plain(v)]));
  return value;
}

/** Whether the value is unknown, or has something unknown in it. */
function hasUnknown(value) {
  if (value === UNKNOWN) return true;
  return value !== null && typeof value === "object" && Object.values(value).some(hasUnknown);
}

module.exports = { ASSET, ARCHIVE, UNKNOWN, isObject, signature, isSecret, secret, isSet, plain, hasUnknown };
