import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** A property of an SDK's input type. */
export interface Property {
  readonly optional: boolean;
  /** "string", "number", "boolean", "array", "map", or "object" for a type of the SDK. */
  readonly kind: string;
  /** The SDK's type, with its namespaces, such as "acme.CertificateDomain": of the value or of the elements. */
  readonly nested: string | undefined;
}

export type Properties = Readonly<Record<string, Property>>;

/** What an npm SDK of a Pulumi provider expects of the provider, read from its type declarations. */
export interface SdkSchema {
  /** Token to input properties; the provider itself under "provider". */
  readonly resources: ReadonlyMap<string, Properties>;
  /** Token to argument names and result names. */
  readonly functions: ReadonlyMap<string, { arguments: string[]; results: string[] }>;
  /** The input types that properties refer to. */
  readonly types: ReadonlyMap<string, Properties>;
}

export function readSdkSchema(npmPackage: string): SdkSchema {
  const root = dirname(require.resolve(`${npmPackage}/package.json`));
  const resources = new Map<string, Properties>();
  const functions = new Map<string, { arguments: string[]; results: string[] }>();
  for (const file of javaScriptFiles(root)) {
    const code = readFileSync(file, "utf8");
    const declarations = interfaces(file.replace(/\.js$/, ".d.ts"));
    const resource = /__pulumiType = '([^']+)'/.exec(code)?.[1];
    if (resource !== undefined) {
      const isProvider = !resource.includes(":");
      const name = isProvider ? "Provider" : resource.split(":").at(-1);
      resources.set(isProvider ? "provider" : resource, declarations.get(`${name}Args`) ?? {});
    }
    for (const [, token = ""] of code.matchAll(/runtime\.invoke\("([^"]+)"/g)) {
      const name = capitalized(token.split(":").at(-1) ?? "");
      functions.set(token, {
        arguments: Object.keys(declarations.get(`${name}Args`) ?? {}),
        results: Object.keys(declarations.get(`${name}Result`) ?? {}),
      });
    }
  }
  return { resources, functions, types: interfaces(join(root, "types/input.d.ts")) };
}

function javaScriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name));
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** The interfaces of a declaration file, by name with namespaces. */
function interfaces(file: string): Map<string, Properties> {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const found = new Map<string, Properties>();
  const visit = (node: ts.Node, prefix: string): void => {
    if (ts.isModuleDeclaration(node) && node.body) visit(node.body, `${prefix}${node.name.text}.`);
    else if (ts.isInterfaceDeclaration(node)) found.set(prefix + node.name.text, properties(node, source));
    else if (ts.isSourceFile(node) || ts.isModuleBlock(node)) {
      ts.forEachChild(node, (child) => visit(child, prefix));
    }
  };
  visit(source, "");
  return found;
}

function properties(declaration: ts.InterfaceDeclaration, source: ts.SourceFile): Properties {
  return Object.fromEntries(
    declaration.members.filter(ts.isPropertySignature).map((member) => [
      member.name.getText(source),
      {
        optional: member.questionToken !== undefined,
        ...typeOf(member.type, source),
      },
    ]),
  );
}

/** Without `| undefined` and without pulumi.Input<…>, at every level. */
function typeOf(type: ts.TypeNode | undefined, source: ts.SourceFile): Omit<Property, "optional"> {
  if (!type) return { kind: "any", nested: undefined };
  if (ts.isUnionTypeNode(type)) {
    const rest = type.types.filter((one) => one.kind !== ts.SyntaxKind.UndefinedKeyword);
    return rest.length === 1 ? typeOf(rest[0], source) : { kind: "any", nested: undefined };
  }
  if (ts.isArrayTypeNode(type)) return { kind: "array", nested: typeOf(type.elementType, source).nested };
  if (ts.isTypeLiteralNode(type)) {
    const [index] = type.members.filter(ts.isIndexSignatureDeclaration);
    return { kind: "map", nested: typeOf(index?.type, source).nested };
  }
  if (ts.isTypeReferenceNode(type)) {
    const name = type.typeName.getText(source);
    if (name === "pulumi.Input") return typeOf(type.typeArguments?.[0], source);
    return { kind: "object", nested: name.replace(/^inputs\./, "") };
  }
  return { kind: type.getText(source), nested: undefined };
}
