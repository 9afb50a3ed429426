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
