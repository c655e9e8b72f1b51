/** Values that a schema of config/schema takes: for each kind that the stack's language uses. */
import fc from "fast-check";
import { z } from "zod";
import { anyText } from "./strings";

type Schema = z.core.$ZodType;

/** How many candidates are tried for each text of the language. */
const CANDIDATES = 60;

/** Texts that match; a pattern's lookaheads, which cannot be generated from, are the schema's own to check. */
function matching(pattern: RegExp): string[] {
  const source = pattern.source.replace(/\(\?!(?:[^()]|\([^()]*\))*\)/g, "");
  return fc.sample(fc.stringMatching(new RegExp(source), { maxLength: 60 }), {
    numRuns: CANDIDATES,
    seed: 1,
  });
}

/** Those of many candidates that the schema takes: hostile texts wherever they are allowed. */
function textOf(schema: z.ZodString): fc.Arbitrary<string> {
  const patterns = (schema.def.checks ?? []).flatMap((check) => {
    const { pattern } = check._zod.def as { pattern?: RegExp };
    return pattern === undefined ? [] : [pattern];
  });
  const candidates = [
    ...patterns.flatMap(matching),
    ...fc.sample(anyText, { numRuns: 4 * CANDIDATES, seed: 1 }),
  ];
  const taken = candidates.filter((text) => schema.safeParse(text).success);
  if (taken.length === 0) throw new Error(`no text was found that matches ${String(patterns[0])}`);
  return fc.constantFrom(...new Set(taken));
}

/** The ends of what is allowed, small numbers and some between. */
function numberOf(schema: z.ZodNumber): fc.Arbitrary<number> {
  const ends = [schema.minValue, schema.maxValue].filter(
    (end) => end !== null && Number.isFinite(end),
  ) as number[];
  const near = ends.flatMap((end) => [end - 1, end, end + 1, end / 2]);
  const taken = [...near, 0.5, 0.85, 1, 2, 8, 16, 100, 129, 1000, 30_000].filter(
    (number) => schema.safeParse(number).success,
  );
  return fc.constantFrom(...new Set(taken));
}

function objectOf(schema: z.ZodObject): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const mayBeMissing = (field as z.ZodType).safeParse(undefined).success;
    const values = valuesOf(field as Schema);
    return [name, mayBeMissing ? fc.option(values, { nil: undefined }) : values] as const;
  });
  return fc
    .record(Object.fromEntries(fields))
    .map((value) => Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)));
}

/** Values that the schema takes. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return valuesOf(schema.def.innerType);
  if (schema instanceof z.ZodString) return textOf(schema);
  if (schema instanceof z.ZodNumber) return numberOf(schema);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...(schema.options as string[]));
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...schema.def.values);
  if (schema instanceof z.ZodUnion)
    return fc.oneof(...schema.options.map((option) => valuesOf(option as Schema)));
  if (schema instanceof z.ZodArray)
    return fc.array(valuesOf(schema.element as Schema), { minLength: 1, maxLength: 2 });
  if (schema instanceof z.ZodRecord)
    return fc
      .array(fc.tuple(valuesOf(schema.def.keyType) as fc.Arbitrary<string>, valuesOf(schema.def.valueType)), {
        minLength: 1,
        maxLength: 2,
      })
      .map((entries) => Object.fromEntries(entries));
  if (schema instanceof z.ZodObject) return objectOf(schema);
  throw new Error(`a kind of schema that this generator does not know: ${schema._zod.def.type}`);
}
