/** Finds what a request carries that its use case does not read: fields of the body, and parameters of the query. */
import Type, { type TSchema } from "typebox";
import { ApiError, type ValidationError } from "#errors.ts";
import { badBody, parseJson } from "#use-case/body.ts";
import { type Docs, pagingQuery, shapeByHand } from "#use-case/docs.ts";
import { isAlmost, nearest } from "#use-case/similar-names.ts";

/** A field that has no meaning where it stands. */
interface Unknown {
  /** Its path, as validation errors name it: `contacts.admin.postcode`, `name_servers/0/address`. */
  field: string;
  name: string;
  /** The names that have a meaning there. */
  known: readonly string[];
}

/** How many entries an answer has at most. */
const refusedMax = 20;
const noParameters = Type.Object({});

/**
 * Compares a request with what its use case documents, so that a mistyped field of an order is refused rather than dropped.
 *
 * @param takesMore Clients of the call may send fields that this service does not have. They are ignored, except those that are
 *   spelled almost like a known one: the same letters in another style, or one typing mistake.
 * @param rawBody A body that is not JSON has no fields: its use case refuses it.
 * @returns the fields and parameters that are ignored
 * @throws ApiError `bad_request` with an entry for each field and parameter that is refused; `invalid_paging_request` about
 *   a list's `skip`, `take` or `cursor`
 */
export function ignoredFields(
  docs: Docs,
  { takesMore, query, rawBody }: { takesMore: boolean; query: URLSearchParams; rawBody: Buffer },
): string[] {
  // Most reads.
  if (query.size === 0 && rawBody.length === 0) return [];
  const parameters = Object.fromEntries([...query.keys()].map((name) => [name, ""]));
  const unknown = [
    ...unknownIn(parameters, docs.query ?? noParameters, ""),
    ...(docs.body && rawBody.length > 0 ? unknownIn(readJson(rawBody), docs.body, "") : []),
  ];
  const refused = unknown.slice(0, refusedMax).flatMap(({ field, name, known }): ValidationError[] => {
    const meant = known.find((candidate) => isAlmost(name, candidate));
    if (takesMore && meant === undefined) return [];
    if (meant !== undefined && meant in pagingQuery && known.includes("skip")) {
      throw new ApiError("invalid_paging_request", { text: `${name}: ${textFor(meant, known)}` });
    }
    return [{ error_code: "invalid", error_text: textFor(meant ?? nearest(name, known), known), field }];
  });
  if (refused.length > 0) throw badBody(refused);
  return unknown.map(({ field }) => field);
}

function readJson(rawBody: Buffer): unknown {
  try {
    return parseJson(rawBody);
  } catch {
    return undefined;
  }
}

function unknownIn(value: unknown, schema: TSchema, path: string): Unknown[] {
  const byHand = shapeByHand(schema);
  if (byHand) return unknownIn(value, byHand, path);
  const { properties, items, anyOf } = schema as {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  if (anyOf) {
    const shape = anyOf.find((choice) => isObject(value) && "properties" in choice);
    return shape ? unknownIn(value, shape, path) : [];
  }
  if (items && Array.isArray(value)) return value.flatMap((item, index) => unknownIn(item, items, `${path}/${index}`));
  if (!properties || !isObject(value)) return [];
  const separator = /\/\d+$/.test(path) ? "/" : ".";
  return Object.entries(value).flatMap(([name, inside]): Unknown[] => {
    const field = path === "" ? name : `${path}${separator}${name}`;
    if (Object.hasOwn(properties, name)) return unknownIn(inside, properties[name]!, field);
    // A null is a field that was left out.
    return inside === null ? [] : [{ field, name, known: Object.keys(properties) }];
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Of a name that only a call with few fields refuses, all of them are said. */
const listedNamesMax = 12;

function textFor(meant: string | undefined, known: readonly string[]): string {
  if (meant !== undefined) return `This is not a known name. Did you mean ${meant}?`;
  if (known.length === 0) return "This call takes no parameters.";
  return known.length <= listedNamesMax
    ? `This is not a known name. The known names are ${known.join(", ")}.`
    : "This is not a known name.";
}
