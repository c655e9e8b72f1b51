import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Ajv from "ajv";
import { parse } from "yaml";
import { generatedFiles } from "../../cli/write-reference";
import { stackFileSchema } from "../../config/json-schema";
import { inspectStackFile, PROJECT_DIRECTORY } from "../../config/load";
import { readStackFile } from "../../config/stack-file";
import { parseValues } from "../../config/values";

const files = readdirSync(PROJECT_DIRECTORY).filter((file) => /^Pulumi\..+\.yaml$/.test(file));
const validate = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile(stackFileSchema());

function content(file: string): { config: Record<string, Record<string, unknown>> } {
  return parse(readFileSync(path.join(PROJECT_DIRECTORY, file), "utf8")) as {
    config: Record<string, Record<string, unknown>>;
  };
}

/** Whether zod takes the structured keys: the part of the checks that a schema can express. */
function acceptedByZod(config: Record<string, unknown>): boolean {
  const own = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
  );
  return parseValues(own, () => undefined).problems.length === 0;
}

test("the stacks of the project are there", () => {
  expect(files).toEqual(
    expect.arrayContaining([
      "Pulumi.example.yaml",
      "Pulumi.kpro5.yaml",
      "Pulumi.kpro6.yaml",
      "Pulumi.lab.yaml",
    ]),
  );
});

describe.each(files)("%s", (file) => {
  test("is right for the editor's schema and for the program", () => {
    const valid = validate(content(file));
    expect(validate.errors).toBeNull();
    expect(valid).toBe(true);
    expect(acceptedByZod(content(file).config)).toBe(true);
  });

  test("has no error, and only values that nobody recorded stop an `up`", () => {
    const { config, problems } = inspectStackFile(path.join(PROJECT_DIRECTORY, file));
    expect(problems.filter((problem) => problem.severity === "error")).toEqual([]);
    expect(config).toBeDefined();
    const waiting = problems.filter((problem) => problem.blocksUp === true).map((problem) => problem.id);
    expect(
      waiting.filter(
        (id) =>
          ![
            "unknown-pin",
            "missing-secret",
            "checksum-file-missing",
            "lock-missing",
            "wheelhouse-list-missing",
          ].includes(id),
      ),
    ).toEqual([]);
  });

  test("tells the editor where its schema is", () => {
    const text = readFileSync(path.join(PROJECT_DIRECTORY, file), "utf8");
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/schemas\/stack\.schema\.json\n/);
  });
});

test.each<[string, (config: Record<string, Record<string, unknown>>) => void]>([
  [
    "an unknown field",
    (config) => Object.assign(config["proxmox-gpu-stack:host"] as object, { colour: "red" }),
  ],
  ["a missing field", (config) => delete config["proxmox-gpu-stack:host"]?.["node"]],
  [
    "a number for a text",
    (config) => Object.assign(config["proxmox-gpu-stack:driver"] as object, { version: 580.1 }),
  ],
  [
    "a wrong choice",
    (config) => Object.assign(config["proxmox-gpu-stack:driver"] as object, { modules: "closed" }),
  ],
  [
    "a wrong name",
    (config) =>
      Object.assign(config["proxmox-gpu-stack:gpus"] as object, { "Card 1": { model: "rtx-a6000" } }),
  ],
])("editor and program both refuse %s", (_, change) => {
  const example = content("Pulumi.example.yaml");
  change(example.config);
  expect(validate(example)).toBe(false);
  expect(acceptedByZod(example.config)).toBe(false);
});

test("the example shows every field of the language", () => {
  const shown = new Set<string>();
  const collect = (value: unknown, where: string): void => {
    shown.add(where);
    if (Array.isArray(value)) for (const element of value) collect(element, `${where}[]`);
    else if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value)) collect(inner, `${where}.${key}`);
  };
  const { raw } = readStackFile(path.join(PROJECT_DIRECTORY, "Pulumi.example.yaml"));
  for (const [key, value] of Object.entries(raw)) collect(value, key);

  const missing: string[] = [];
  const compare = (schema: Record<string, unknown>, where: RegExp, label: string): void => {
    if (![...shown].some((place) => where.test(place))) missing.push(label);
    const properties = (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>;
    const base = where.source.slice(0, -1);
    for (const [name, inner] of Object.entries(properties))
      compare(inner, new RegExp(`${base}\\.${name}$`), `${label}.${name}`);
    const items = schema["items"] as Record<string, unknown> | undefined;
    if (items?.["properties"] !== undefined) compare(items, new RegExp(`${base}\\[\\]$`), `${label}[]`);
    const entries = schema["additionalProperties"];
    if (typeof entries === "object" && entries !== null && "properties" in entries)
      compare(entries as Record<string, unknown>, new RegExp(`${base}\\.[^.[]+$`), `${label}.<name>`);
  };
  const config = (
    stackFileSchema() as { properties: { config: { properties: Record<string, Record<string, unknown>> } } }
  ).properties.config.properties;
  for (const [key, schema] of Object.entries(config)) {
    if ("anyOf" in schema) continue; // secrets have no place in an example
    compare(schema, new RegExp(`^${key}$`), key);
  }
  // Fields that the example's model cannot use stand in comments.
  const text = readFileSync(path.join(PROJECT_DIRECTORY, "Pulumi.example.yaml"), "utf8");
  const commented = (field: string): boolean =>
    new RegExp(`# .*\\b${field.split(".").at(-1) ?? ""}: `).test(text);
  expect(missing.filter((field) => !commented(field))).toEqual([]);
});

test("every field has a description of more than a few words", () => {
  const short: string[] = [];
  const visit = (schema: Record<string, unknown>, where: string): void => {
    const { properties, items, additionalProperties } = schema;
    for (const [name, inner] of Object.entries(
      (properties ?? {}) as Record<string, Record<string, unknown>>,
    )) {
      const description = inner["description"];
      if (typeof description !== "string" || description.length < 12) short.push(`${where}.${name}`);
      visit(inner, `${where}.${name}`);
    }
    for (const inner of [items, additionalProperties])
      if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>, where);
  };
  visit(stackFileSchema() as Record<string, unknown>, "");
  expect(short).toEqual([]);
});

test("schema and reference are current (else: npm run schemas)", () => {
  for (const [file, text] of Object.entries(generatedFiles())) {
    expect(readFileSync(path.join(PROJECT_DIRECTORY, file), "utf8")).toBe(text);
  }
});
