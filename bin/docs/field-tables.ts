/** The fields of a body as a table: a row for each, those of nested objects with their path. */
import { code, prose, table } from "./markdown.ts";
import { type ApiDocument, follow, nameOf, type Schema } from "./openapi.ts";

/** The page that has a table for each named shape. */
const shapesPage = "shapes";

const isNull = ({ type }: Schema) => type === "null";

/** "list of text, at most 13 entries" */
export function describeType(schema: Schema): string {
  const { $ref, anyOf, items, const: only, enum: choices } = schema;
  if ($ref) return `[${nameOf($ref)}](${shapesPage}.md#${nameOf($ref)})`;
  if (anyOf) return anyOf.map(describeType).join(" or ");
  if (only !== undefined) return code(JSON.stringify(only));
  if (choices) return `one of ${choices.map(code).join(", ")}`;
  const limits = limitsOf(schema);
  const named = items ? `list of ${describeType(items)}` : plainType(schema);
  return limits ? `${named}, ${limits}` : named;
}

function plainType({ type, format, patternProperties }: Schema): string {
  if (format === "date-time") return "time (RFC 3339)";
  if (type === "string") return format ? `text (${format})` : "text";
  if (patternProperties) return "object with any names";
  return type ?? "anything";
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, default: byDefault } = schema;
  const limits = [
    rangeOf(minimum, maximum, ""),
    rangeOf(minLength, maxLength, " characters"),
    rangeOf(minItems, maxItems, " entries"),
    pattern && `matches ${code(pattern)}`,
    byDefault !== undefined && `by default ${code(JSON.stringify(byDefault))}`,
  ];
  return limits.filter(Boolean).join(", ");
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least !== undefined && least === most) return `exactly ${least}${unit}`;
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? undefined : `at most ${most}${unit}`;
}

type Row = [path: string, whatItIs: string];

/** The objects without a name that stand inside of a field. */
function nestedIn(path: string, schema: Schema): [path: string, schema: Schema][] {
  const { properties, items, anyOf } = schema;
  if (properties) return [[path, schema]];
  if (items) return nestedIn(`${path}[]`, items);
  return (anyOf ?? []).flatMap((choice) => nestedIn(path, choice));
}

function rowsOf(schema: Schema, prefix: string, of: Of): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const meaning = field.description ?? field.anyOf?.find(({ description }) => description)?.description ?? "";
    const own: Row = [code(path), whatItIs(describeType(field), isRequired, of, meaning)];
    const nested = nestedIn(path, field).flatMap(([at, object]) => rowsOf(object, `${at}.`, of));
    return [own, ...nested];
  });
}

/** What kind of table it is: the fields that a request must have, or those that an answer always has. */
export type Of = "request" | "answer";

/** "text, at most 255 characters; required. Of the host." A separate column for each part would mostly be empty. */
export function whatItIs(type: string, isRequired: boolean, of: Of, meaning: string): string {
  const exception = of === "request" ? isRequired && "required" : !isRequired && "can be missing";
  const first = [type, exception].filter(Boolean).join("; ");
  return meaning ? `${first}. ${prose(meaning)}` : first;
}

/** The fields of a body, or a sentence that says which shape it has. */
export function fieldTable(document: ApiDocument, schema: Schema, of: Of): string {
  const choices = schema.anyOf?.filter((choice) => !isNull(choice)) ?? [schema];
  const parts = choices.map((choice) => {
    const inner = choice.items ?? choice;
    const shape = inner.$ref && describeType(inner);
    const title = choice.items ? `A list of ${shape ?? "objects"}:` : shape && `${shape}:`;
    const rows = rowsOf(follow(document, inner), "", of);
    if (rows.length === 0) return `${title ?? ""} ${describeType(choice)}`.trim();
    return [title, table(["field", "what it is"], rows)].filter(Boolean).join("\n\n");
  });
  return parts.join("\n\nOr:\n\n");
}
