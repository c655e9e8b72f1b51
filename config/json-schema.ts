/** JSON Schema (draft 7) of a stack file, for editors: completion, hover texts, checks while typing. */
import { z } from "zod";
import { NAMESPACE, SECRETS, stackSchema } from "./schema";

const secretSchema = (description: string) => ({
  description: `${description} Set it with \`pulumi config set --secret\`.`,
  anyOf: [
    { type: "string", minLength: 1 },
    {
      type: "object",
      properties: { secure: { type: "string" } },
      required: ["secure"],
      additionalProperties: false,
    },
  ],
});

/** Keys that must be there: those that the language gives no default. */
function requiredKeys(): string[] {
  return Object.entries(stackSchema.shape)
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([key]) => `${NAMESPACE}:${key}`);
}

/** The schema of `Pulumi.<stack>.yaml`. */
export function stackFileSchema(): object {
  const structured = Object.entries(stackSchema.shape).map(([key, schema]) => {
    const json = z.toJSONSchema(schema, { target: "draft-7", io: "input" });
    delete json.$schema; // stated once, at the top
    return [`${NAMESPACE}:${key}`, json];
  });
  const secrets = Object.entries(SECRETS).map(([key, text]) => [`${NAMESPACE}:${key}`, secretSchema(text)]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Stack file of proxmox-gpu-stack",
    description: "Generated from config/schema/ by `npm run schemas`; do not edit.",
    type: "object",
    properties: {
      config: {
        description: "Configuration of the stack: one key a component, secrets as keys of their own.",
        type: "object",
        properties: Object.fromEntries([...structured, ...secrets]) as object,
        patternProperties: {
          [`^(?!${NAMESPACE}:)[^:]+:.+$`]: {
            description: "A key of another namespace, such as pulumi:tags.",
          },
        },
        required: requiredKeys(),
        additionalProperties: false,
      },
      secretsprovider: { description: "Pulumi: who encrypts the secrets.", type: "string" },
      encryptedkey: { description: "Pulumi: the encrypted key of the secrets provider.", type: "string" },
      encryptionsalt: { description: "Pulumi: the salt of the passphrase.", type: "string" },
      environment: { description: "Pulumi: ESC environments that are imported." },
    },
    required: ["config"],
    additionalProperties: false,
  };
}
