/** Finds what a request carries that its use case does not read: fields of the body, and parameters of the query. */
import Type, { type TSchema } from "typebox";
import { ApiError, type ValidationError } from "#errors.ts";
import { badBody, parseJson } from "#use-case/body.ts";
import { type Docs, pagingQuery, shapeByHand } from "#use-case/docs.ts";

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

/** Two shorter names are often one typing mistake apart without meaning the same. */
const typoLettersMin = 4;

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

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

function isAlmost(given: string, known: string): boolean {
  const [left, right] = [lettersOf(given), lettersOf(known)];
  return (
    left === right || (Math.min(left.length, right.length) >= typoLettersMin && mistakesBetween(left, right) === 1)
  );
}

/** The known name with the fewest typing mistakes, unless every other letter would be one. */
function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, mistakes: mistakesBetween(lettersOf(given), lettersOf(name)) }))
    .filter(({ name, mistakes }) => mistakes <= Math.min(name.length, given.length) / 2)
    .sort((left, right) => left.mistakes - right.mistakes);
  return ranked[0]?.name;
}

/** A name that is longer than this is not compared letter by letter. */
const comparedLettersMax = 64;

/** How many letters were left out, added, replaced, or swapped with their neighbour (optimal string alignment distance). */
function mistakesBetween(left: string, right: string): number {
  if (left.length > comparedLettersMax) return left.length;
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let to = 1; to <= right.length; to++) {
      const isSame = left[at - 1] === right[to - 1];
      let mistakes = Math.min(row[to]! + 1, next[to - 1]! + 1, row[to - 1]! + Number(!isSame));
      const isSwapped = at > 1 && to > 1 && left[at - 1] === right[to - 2] && left[at - 2] === right[to - 1];
      if (isSwapped) mistakes = Math.min(mistakes, before[to - 2]! + 1);
      next.push(mistakes);
    }
    [before, row] = [row, next];
  }
  return row.at(-1)!;
}
