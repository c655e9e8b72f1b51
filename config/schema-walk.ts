import { z } from "zod";

/** Takes away what only says that a value may be left out. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  let current = schema;
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault
  ) {
    current = current.def.innerType;
  }
  return current;
}

/** The schema at a path, or undefined where the language has nothing. */
export function schemaAt(root: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  let current: z.core.$ZodType | undefined = unwrapped(root);
  for (const segment of path) {
    if (current instanceof z.ZodObject) current = current.shape[String(segment)];
    else if (current instanceof z.ZodRecord) current = current.def.valueType;
    else if (current instanceof z.ZodArray) current = current.def.element;
    else return undefined;
    if (current === undefined) return undefined;
    current = unwrapped(current);
  }
  return current;
}

/** The keys that a structure may have; empty for a map and for plain values. */
export function keysAt(root: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const schema = schemaAt(root, path);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** An example of a plain value, from the field's own examples or choices. */
export function exampleAt(root: z.core.$ZodType, path: readonly PropertyKey[]): string | undefined {
  const schema = schemaAt(root, path);
  if (schema === undefined) return undefined;
  const example = (z.globalRegistry.get(schema)?.examples as unknown[] | undefined)?.[0];
  if (typeof example === "string" || typeof example === "number") return String(example);
  if (schema instanceof z.ZodEnum) return String(schema.options[0]);
  return undefined;
}
