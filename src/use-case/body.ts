import type { Static, TObject } from "typebox";
import Value from "typebox/value";
import { ApiError, type ValidationError } from "#errors.ts";
import { schemaAt, wordsFor } from "#lib/schema-words.ts";
import { shapeByHand } from "#use-case/docs.ts";

/**
 * Reads a JSON body that must be an object of the given shape; fields outside the shape are ignored, and null means left out.
 * A text that PostgreSQL cannot store is refused, except in fields that their use case checks itself.
 * @param comparedOnly such fields, in addition to those whose shape says so (`checkedByHand`)
 * @throws ApiError `bad_request` with an entry per field. It never repeats a value: values can be secrets
 */
export function parseBody<Shape extends TObject>(
  shape: Shape,
  rawBody: Buffer,
  { comparedOnly = [] }: { comparedOnly?: readonly (keyof Static<Shape>)[] } = {},
): Static<Shape> {
  const value = withoutNulls(parseJson(rawBody));
  if (Value.Check(shape, value)) {
    const isOwn = (name: string) => comparedOnly.includes(name) || shapeByHand(shape.properties[name] ?? {});
    const field = findNul(Object.fromEntries(Object.entries(value).filter(([name]) => !isOwn(name))));
    if (field === undefined) return value;
    const text = "This field must not contain the character NUL.";
    throw badBody([{ error_code: "invalid", error_text: text, field }]);
  }
  const errors = Value.Errors(shape, value).flatMap((error): ValidationError[] => {
    const path = error.instancePath.replace(/^\//, "");
    if (error.keyword === "required") {
      const missing = (error.params as { requiredProperties: string[] }).requiredProperties;
      const fields = missing.map((name) => [path, name].filter(Boolean).join("/"));
      return fields.map((field) => ({ error_code: "missing", error_text: "Required.", field }));
    }
    const wanted = path === "" ? "Send a JSON object." : `Give ${wordsFor(schemaAt(shape, path.split("/")))}.`;
    return [{ error_code: "invalid", error_text: wanted, field: path || "body" }];
  });
  // A field that breaks two rules of its shape gets one entry, because the text states the whole shape.
  throw badBody([...new Map(errors.map((error) => [error.field, error])).values()]);
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

/** @returns the path of the first text that PostgreSQL cannot store */
function findNul(value: unknown): string | undefined {
  if (typeof value === "string") return value.includes("\0") ? "" : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const inner = name.includes("\0") ? "" : findNul(part);
    if (inner !== undefined) return [name.replaceAll("\0", "\uFFFD"), inner].filter(Boolean).join("/");
  }
  return undefined;
}

/** @throws ApiError `bad_request` */
export function parseJson(rawBody: Buffer): unknown {
  try {
    // Drops a byte order mark and refuses bytes that are not UTF-8: a replaced character would make another name.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(rawBody));
  } catch {
    const text =
      rawBody.length === 0 ? "The body is empty; send a JSON object." : "The body is not valid JSON in UTF-8.";
    throw badBody([{ error_code: "invalid", error_text: text, field: "body" }]);
  }
}

/** A `bad_request` with these mistakes. Its text says what several fields have in common once. */
export function badBody(validationErrors: ValidationError[]): ApiError {
  const byText = Map.groupBy(validationErrors, ({ error_text }) => error_text);
  const text = [...byText].map(([said, at]) => `${at.map(({ field }) => field).join(", ")}: ${said}`).join(" ");
  return new ApiError("bad_request", { text, validationErrors });
}
