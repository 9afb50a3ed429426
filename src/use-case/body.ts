import type { Static, TObject } from "typebox";
import Value from "typebox/value";
import { ApiError, type ValidationError } from "#errors.ts";

/**
 * Reads a JSON body that must be an object of the given shape; fields outside the shape are ignored, and null means left out.
 * @throws ApiError `bad_request` with an entry per field. It never repeats a value: values can be secrets
 */
export function parseBody<Shape extends TObject>(shape: Shape, rawBody: Buffer): Static<Shape> {
  const value = withoutNulls(parseJson(rawBody));
  if (Value.Check(shape, value)) {
    const field = findNul(value);
    if (field === undefined) return value;
    const text = "This field must not contain the character NUL.";
    throw badBody([{ error_code: "invalid", error_text: text, field }]);
  }
  const errors = Value.Errors(shape, value).flatMap((error): ValidationError[] => {
    const path = error.instancePath.replace(/^\//, "");
    if (error.keyword === "required") {
      const missing = (error.params as { requiredProperties: string[] }).requiredProperties;
      const fields = missing.map((name) => [path, name].filter(Boolean).join("/"));
      return fields.map((field) => ({ error_code: "missing", error_text: "This field is required.", field }));
    }
    const field = path || "body";
    const text = field === "body" ? "The body must be a JSON object." : `This field ${error.message}.`;
    return [{ error_code: "invalid", error_text: text, field }];
  });
  throw badBody(errors);
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

function parseJson(rawBody: Buffer): unknown {
  try {
    // Drops a byte order mark and refuses bytes that are not UTF-8: a replaced character would make another name.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(rawBody));
  } catch {
    const text =
      rawBody.length === 0 ? "The body is empty; send a JSON object." : "The body is not valid JSON in UTF-8.";
    throw badBody([{ error_code: "invalid", error_text: text, field: "body" }]);
  }
}

/** A `bad_request` with these mistakes. */
export function badBody(validationErrors: ValidationError[]): ApiError {
  const text = validationErrors.map((error) => `${error.field}: ${error.error_text}`).join(" ");
  return new ApiError("bad_request", { text, validationErrors });
}
