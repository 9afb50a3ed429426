/** Says what a JSON Schema takes, in words that do not need the schema: "a whole number from 1 to 10". */
import type { TSchema } from "typebox";

interface JsonShape {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: TSchema[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** The schema of the value at a path; an empty one takes anything. */
export function schemaAt(shape: TSchema, [name, ...rest]: readonly string[]): TSchema {
  if (name === undefined) return shape;
  const { properties, patternProperties, items } = shape as Partial<
    Record<"properties" | "patternProperties", Record<string, TSchema>> & { items: TSchema }
  >;
  return schemaAt(properties?.[name] ?? items ?? Object.values(patternProperties ?? {})[0] ?? {}, rest);
}

export function wordsFor(schema: TSchema): string {
  const shape = schema as JsonShape;
  if (shape.enum) return `one of ${shape.enum.join(", ")}`;
  if (shape.const !== undefined) return String(shape.const);
  if (shape.anyOf) return shape.anyOf.map(wordsFor).join(" or ");
  switch (shape.type) {
    case "integer":
    case "number":
      return `a ${shape.type === "integer" ? "whole " : ""}number${rangeText(shape)}`;
    case "boolean":
      return "true or false";
    case "string":
      return `a string${lengthText(shape)}`;
    case "array":
      return `a list${countText(shape)}`;
    default:
      return "an object";
  }
}

function rangeText({ minimum, exclusiveMinimum, maximum }: JsonShape): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  const above = exclusiveMinimum === undefined ? "" : ` above ${exclusiveMinimum}`;
  return maximum === undefined ? above : `${above} of at most ${maximum}`;
}

function lengthText({ minLength: least, maxLength: most }: JsonShape): string {
  if (least === undefined) return most === undefined ? "" : ` of at most ${most} characters`;
  if (most !== undefined) return ` of ${least} to ${most} characters`;
  return least === 1 ? " that is not empty" : ` of at least ${least} characters`;
}

function countText({ minItems: least, maxItems: most }: JsonShape): string {
  if (least === undefined) return most === undefined ? "" : ` with at most ${most} entries`;
  return most === undefined ? ` with at least ${least} entries` : ` with ${least} to ${most} entries`;
}
