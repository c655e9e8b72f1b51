import type { Properties, Property, SdkSchema } from "./sdk-schema";

interface PropertySpec {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: PropertySpec;
  readonly additionalProperties?: PropertySpec;
}

interface ObjectSpec {
  readonly properties?: Record<string, PropertySpec>;
  readonly required?: string[];
}

interface ResourceSpec {
  readonly inputProperties?: Record<string, PropertySpec>;
  readonly requiredInputs?: string[];
}

/** What we read of a Pulumi package schema. */
export interface ProviderSchema {
  readonly version: string;
  readonly provider: ResourceSpec;
  readonly resources: Record<string, ResourceSpec>;
  readonly functions: Record<string, { inputs?: ObjectSpec; outputs?: ObjectSpec }>;
  readonly types: Record<string, ObjectSpec>;
}

/** Compares the schema that a provider serves with what the SDK expects, and counts. */
export class SchemaComparison {
  /** One line a difference. */
  readonly differences: string[] = [];
  /** How many properties were compared. */
  compared = 0;
  private readonly seen = new Set<string>();

  constructor(
    private readonly sdk: SdkSchema,
    private readonly served: ProviderSchema,
  ) {}

  /** All that there is on either side. */
  all(): this {
    for (const token of this.sdk.resources.keys()) this.resource(token);
    for (const token of this.sdk.functions.keys()) this.function(token);
    for (const token of Object.keys(this.served.resources)) {
      if (!this.sdk.resources.has(token)) this.differ(`${token}: only served`);
    }
    for (const token of Object.keys(this.served.functions)) {
      if (!this.sdk.functions.has(token)) this.differ(`${token}: only served`);
    }
    return this;
  }

  /** One resource with all types below it; "provider" for the provider itself. */
  resource(token: string): this {
    const wanted = this.sdk.resources.get(token);
    const served = token === "provider" ? this.served.provider : this.served.resources[token];
    if (!wanted || !served) {
      this.differ(`${token}: only ${wanted ? "in the SDK" : "served"}`);
    } else {
      this.object(token, wanted, {
        properties: served.inputProperties ?? {},
        required: served.requiredInputs ?? [],
      });
    }
    return this;
  }

  private function(token: string): void {
    const wanted = this.sdk.functions.get(token);
    const served = this.served.functions[token];
    if (!wanted || !served) {
      this.differ(`${token}: only in the SDK`);
      return;
    }
    this.names(`${token} argument`, wanted.arguments, served.inputs);
    this.names(`${token} result`, wanted.results, served.outputs);
  }

  private names(where: string, wanted: string[], served: ObjectSpec = {}): void {
    for (const name of wanted) {
      this.compared++;
      if (!served.properties?.[name]) this.differ(`${where} ${name}: only in the SDK`);
    }
  }

  private object(where: string, wanted: Properties, served: ObjectSpec): void {
    const properties = served.properties ?? {};
    for (const [name, property] of Object.entries(wanted)) {
      this.compared++;
      const spec = properties[name];
      if (spec === undefined) this.differ(`${where}.${name}: only in the SDK`);
      else this.property(`${where}.${name}`, property, spec, served.required?.includes(name) ?? false);
    }
    for (const name of Object.keys(properties)) {
      if (!(name in wanted)) this.differ(`${where}.${name}: only served`);
    }
  }

  private property(where: string, wanted: Property, spec: PropertySpec, required: boolean): void {
    if (wanted.kind !== kindOf(spec)) {
      this.differ(`${where}: ${wanted.kind} in the SDK, ${kindOf(spec)} served`);
    }
    if (wanted.optional === required) {
      this.differ(`${where}: ${wanted.optional ? "optional" : "required"} in the SDK, not so as served`);
    }
    const reference = referenceOf(spec);
    if ((wanted.nested === undefined) !== (reference === undefined)) {
      this.differ(`${where}: a type of its own on one side only`);
    }
    if (wanted.nested === undefined || reference === undefined || this.seen.has(wanted.nested)) return;
    this.seen.add(wanted.nested);
    const type = this.sdk.types.get(wanted.nested);
    const servedType = this.served.types[reference];
    if (!type || !servedType) this.differ(`${where}: its type ${wanted.nested} is missing`);
    else this.object(wanted.nested, type, servedType);
  }

  private differ(text: string): void {
    this.differences.push(text);
  }
}

function kindOf(spec: PropertySpec): string {
  if (spec.$ref !== undefined) return "object";
  if (spec.type === "integer") return "number";
  return spec.type === "object" ? "map" : (spec.type ?? "any");
}

/** The name of the type that a value or its elements have, if it has one. */
function referenceOf(spec: PropertySpec): string | undefined {
  const reference = spec.$ref ?? spec.items?.$ref ?? spec.additionalProperties?.$ref;
  return reference?.replace("#/types/", "");
}
