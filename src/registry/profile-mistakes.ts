/** Describes the mistakes in a file of profiles for its author. No value is quoted, because it may be a password. */
import type { TSchema } from "typebox";
import Value from "typebox/value";
import { schemaAt, wordsFor } from "#lib/schema-words.ts";

const fieldsPage = "docs/registries.md";

/** A mistake as `typebox` reports it, with the `params` that are used here. */
interface SchemaError {
  keyword: string;
  /** E.g. "/0/timeouts/loginMs". */
  instancePath: string;
  params: object;
}

/**
 * @param entries the file's content, which does not match the schema
 * @returns a sentence for each of the first eight mistakes (`typebox` reports no more), beginning with the profile and the
 * field: "nic: timeouts.loginMs must be …"
 */
export function describeSchemaMistakes(schema: TSchema, entries: unknown): string[] {
  const errors: SchemaError[] = Value.Errors(schema, entries);
  return errors.flatMap((error) => describe(schema, error, entries));
}

function describe(schema: TSchema, error: SchemaError, entries: unknown): string[] {
  const [, index, ...path] = error.instancePath.split("/").map(unescapePart);
  if (index === undefined) return ["it must be an array of profiles: [ { … } ]"];
  const profile = nameOf(entries, Number(index));
  const field = path.join(".");
  const at = (name: string) => [...path, name].join(".");
  const params = error.params as Record<string, string[] | string | number>;
  switch (error.keyword) {
    case "required":
      return (params.requiredProperties as string[]).map((name) => `${profile}: ${at(name)} is missing`);
    case "boolean":
      return [`${profile}: ${field} is not a field of a profile; ${fieldsPage} lists the fields`];
    // Repeats for the object what "boolean" reports for each field.
    case "additionalProperties":
      return [];
    case "enum":
      return [
        `${profile}: ${field} must be ${(params.allowedValues as string[]).join(", ").replace(/, (?=[^,]*$)/, " or ")}`,
      ];
    case "pattern":
      return [`${profile}: ${field} does not have the form that ${fieldsPage} describes`];
    default:
      return [`${profile}: ${field || "a profile"} must be ${wordsFor(schemaAt(schema, [index, ...path]))}`];
  }
}

/** JSON pointers (RFC 6901 §4). */
function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function nameOf(entries: unknown, index: number): string {
  const id = (entries as { id?: unknown }[])[index]?.id;
  return typeof id === "string" ? id : `profile ${index + 1}`;
}
