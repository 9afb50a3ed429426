import { invalidField } from "#errors.ts";

/**
 * Reads a filter of a list: a parameter of the query, at most once.
 * @param wanted what to give, for people
 * @param parse returns undefined for a value that the filter does not have
 * @throws ApiError `bad_request` that names the filter
 */
export function readFilter<T>(
  query: URLSearchParams,
  name: string,
  wanted: string,
  parse: (text: string) => T | undefined,
): T | undefined {
  const given = query.getAll(name);
  if (given.length === 0) return undefined;
  const value = given.length === 1 ? parse(given[0]!) : undefined;
  if (value === undefined) throw invalidField(name, `${wanted}, once.`);
  return value;
}

/** A filter by one of some words, in any case. */
export function readChoice<const T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | undefined {
  return readFilter(query, name, `Name one of ${choices.join(", ")}`, (text) =>
    choices.find((choice) => choice.toLowerCase() === text),
  );
}

/** A date, which begins at midnight UTC, or a time with its zone. A query is read in lower case. @returns the instant in UTC */
export function parseInstant(text: string): string | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(t\d\d:\d\d(:\d\d(\.\d{1,9})?)?(z|[+-]\d\d:\d\d))?$/.exec(text);
  const day = new Date(match?.[1] ?? "");
  // A day that its month does not have would become another one.
  if (!match || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(match[1]!)) return undefined;
  const instant = new Date(text.toUpperCase());
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}
