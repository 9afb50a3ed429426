/** Turns what a set, a zone or a zone file has wrong into answers. */
import { ZoneFileProblem } from "#dns/master-file.ts";
import { RecordProblem } from "#dns/records.ts";
import { type ApiError, invalidField } from "#errors.ts";

/**
 * @param path where the body has the set; empty: it is the body
 * @param names fields that the body calls otherwise
 * @throws ApiError `bad_request` in place of a problem
 */
export function atField<Result>(
  path: string,
  work: () => Result,
  names: Readonly<Record<string, string>> = {},
): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof RecordProblem && names[error.path]) throw invalidField(names[error.path]!, error.message);
    throw asApiError(error, path) ?? error;
  }
}

function asApiError(error: unknown, path: string): ApiError | undefined {
  if (error instanceof RecordProblem) return invalidField([path, error.path].filter(Boolean).join("/"), error.message);
  if (error instanceof ZoneFileProblem) return invalidField(`line ${error.line}`, error.message);
  return undefined;
}
