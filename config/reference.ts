/** The reference of the configuration as Markdown, from the schemas: one table for each structure. */
import { z } from "zod";
import { NAMESPACE, SECRETS, UNKNOWN, stackSchema } from "./schema";

interface Property {
  readonly type?: string | string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly properties?: Record<string, Property>;
  readonly additionalProperties?: Property | boolean;
  readonly items?: Property;
  readonly required?: string[];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function acceptsUnknown(property: Property): boolean {
  return property.pattern?.startsWith(`^${UNKNOWN}$|`) === true;
}

/** The largest safe integer is zod's way of saying "no limit". */
function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Property): string {
  const top = maximum === Number.MAX_SAFE_INTEGER || maximum === 1_000_000_000 ? undefined : maximum;
  if (exclusiveMinimum !== undefined && exclusiveMaximum !== undefined)
    return `, between ${exclusiveMinimum} and ${exclusiveMaximum}`;
  if (minimum !== undefined && top !== undefined) return `, ${minimum} to ${top}`;
  return minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? "" : `, at least ${minimum}`;
}

function typeOf(property: Property): string {
  if (property.enum !== undefined) return property.enum.map((value) => `\`${String(value)}\``).join(" or ");
  if (property.type === "array") return `list of ${typeOf(property.items ?? {})}`;
  if (property.type === "integer") return `whole number${range(property)}`;
  if (property.type === "number") return `number${range(property)}`;
  if (property.type === "boolean") return "`true` or `false`";
  if (property.type === "string") return acceptsUnknown(property) ? "text, or `unknown`" : "text";
  if (property.properties !== undefined) return "mapping, see below";
  return typeof property.additionalProperties === "object"
    ? `map of ${typeOf(property.additionalProperties)}`
    : "mapping";
}

function defaultOf(name: string, property: Property, required: readonly string[]): string {
  if (required.includes(name)) return "**required**";
  if (property.default === undefined || property.properties !== undefined) return "";
  return `\`${JSON.stringify(property.default)}\``;
}

/** The structure behind a property: itself, the entries of a list or map, or none. */
function structureOf(property: Property): { structure: Property; suffix: string } | undefined {
  if (property.properties !== undefined) return { structure: property, suffix: "" };
  if (property.items?.properties !== undefined) return { structure: property.items, suffix: "[]" };
  const entry = property.additionalProperties;
  if (typeof entry === "object" && entry.properties !== undefined)
    return { structure: entry, suffix: ".<name>" };
  return undefined;
}

function tables(path: string, property: Property, depth: number): string[] {
  const found = structureOf(property);
  // A key that is one value has no table.
  if (found === undefined)
    return depth === 2 ? [`## \`${path}\``, `${typeOf(property)}: ${property.description ?? ""}`] : [];
  const { structure, suffix } = found;
  const required = structure.required ?? [];
  const rows = Object.entries(structure.properties ?? {}).map(
    ([name, inner]) =>
      `| \`${name}\` | ${cell(typeOf(inner))} | ${cell(defaultOf(name, inner, required))} | ${cell(inner.description ?? "")} |`,
  );
  const inner = Object.entries(structure.properties ?? {}).flatMap(([name, value]) =>
    tables(`${path}${suffix}.${name}`, value, depth + 1),
  );
  return [
    `${"#".repeat(Math.min(depth, 4))} \`${path}${suffix}\``,
    property.description ?? "",
    ["| field | type | default | meaning |", "|---|---|---|---|", ...rows].join("\n"),
    ...inner,
  ];
}

/** The text of docs/reference/configuration.md. */
export function configurationReference(): string {
  const keys = Object.entries(stackSchema.shape).flatMap(([key, schema]) =>
    tables(key, z.toJSONSchema(schema, { target: "draft-7", io: "input" }) as Property, 2),
  );
  const secrets = Object.entries(SECRETS).map(([name, text]) => `| \`${name}\` | ${cell(text)} |`);
  return `${[
    "# Configuration",
    "Generated from `config/schema/` by `npm run schemas`; do not edit.",
    `Every key stands under \`config:\` of \`Pulumi.<stack>.yaml\` with the prefix \`${NAMESPACE}:\`. Unknown keys are errors. ` +
      "All problems of a stack are reported at once: `./stack check STACK`.",
    "Where the type says so, the word `unknown` stands for a value that nobody recorded yet: previews work with it, `up` is " +
      "refused until it is filled in.",
    ...keys,
    "## Secrets",
    "Keys of their own, set with `pulumi config set --secret`. They reach machines on standard input only.",
    ["| key | meaning |", "|---|---|", ...secrets].join("\n"),
  ].join("\n\n")}\n`;
}
