/** TypeBox's shapes as openapi.json has them, and an example of each. */
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "typebox";
import { shapeByHand } from "#use-case/docs.ts";

type Json = Record<string, unknown>;

export interface Shapes {
  /** The schema of a shape: a reference, if the shape has a title. @throws when another shape has the title */
  describe(shape: TSchema): Json;
  /** By title. */
  described: Record<string, Json>;
}

/** Collects the shapes with titles while it describes others. */
export function createShapes(): Shapes {
  const described: Record<string, Json> = {};

  function describe(shape: TSchema): Json {
    const { title, ...schema } = shape as Json & { title?: string };
    if (title === undefined) return describeParts(schema);
    const parts = describeParts(schema);
    described[title] ??= parts;
    if (!isDeepStrictEqual(described[title], parts)) throw new Error(`two shapes have the title ${title}`);
    return { $ref: `#/components/schemas/${title}` };
  }

  function describeParts(schema: Json): Json {
    const byHand = shapeByHand(schema);
    if (byHand) return describe(byHand);
    const { properties, items, anyOf, ...rest } = schema;
    return {
      ...(Array.isArray(rest.enum) && { type: typeof rest.enum[0] === "number" ? "integer" : "string" }),
      ...rest,
      ...(properties !== undefined && { properties: describeEach(properties as Record<string, TSchema>) }),
      ...(items !== undefined && { items: describe(items as TSchema) }),
      ...(anyOf !== undefined && { anyOf: (anyOf as TSchema[]).map(describe) }),
    };
  }

  const describeEach = (properties: Record<string, TSchema>) =>
    Object.fromEntries(Object.entries(properties).map(([name, shape]) => [name, describe(shape)]));

  return { describe, described };
}

/** The example that a shape declares, or else one made of its required fields. @throws when a field has no example */
export function exampleOf(shape: TSchema, path = ""): unknown {
  const schema = (shapeByHand(shape) ?? shape) as Json;
  const { examples, enum: choices, anyOf, items, properties, required = [] } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ("const" in schema) return schema.const;
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0], path);
  if (items) return [exampleOf(items as TSchema, `${path}[]`)];
  if (!properties) throw new Error(`the shape ${path} has no example`);
  const isRequired = ([name]: [string, unknown]) => (required as string[]).includes(name);
  const fields = Object.entries(properties as Record<string, TSchema>).filter(isRequired);
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field, `${path}/${name}`)]));
}

/** All examples of a shape: those that are written out, or the one that is made of its fields. */
export function examplesOf(shape: TSchema): unknown[] {
  const { examples } = shape as { examples?: unknown[] };
  return examples ?? [exampleOf(shape)];
}
