import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldTable } from "./field-tables.ts";
import type { ApiDocument, Schema } from "./openapi.ts";

const host: Schema = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", description: "Of the host." } },
};
const document = { components: { schemas: { Host: host } } } as unknown as ApiDocument;
const reference: Schema = { $ref: "#/components/schemas/Host" };

/** The rows of the table of an object with this one field. */
function rowsOf(field: Schema): string[] {
  const table = fieldTable(document, { type: "object", properties: { field } }, "request");
  return table.split("\n").slice(2);
}

test("a field's row has its type with its limits", () => {
  for (const [field, row] of [
    [{ type: "string", minLength: 1, maxLength: 255 }, "text, 1 to 255 characters"],
    [{ type: "integer", minimum: 0, default: 25 }, "integer, at least 0, by default `25`"],
    [{ type: "array", items: { type: "string" }, maxItems: 13 }, "list of text, at most 13 entries"],
    [{ type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 }, "list of text, exactly 2 entries"],
    [{ type: "string", format: "date-time" }, "time (RFC 3339)"],
    [{ type: "string", enum: ["a", "b"] }, "one of `a`, `b`"],
    [{ anyOf: [{ type: "string", pattern: "^a|b$" }, { type: "null" }] }, "text, matches `^a\\|b$` or null"],
    [{ const: true }, "`true`"],
    [reference, "[Host](shapes.md#Host)"],
  ] as [Schema, string][]) {
    assert.deepEqual(rowsOf(field), [`| \`field\` | ${row} |`]);
  }
});

test("the fields of an object without a name stand below it, with their path", () => {
  const nested: Schema = { type: "array", items: { ...host, required: ["name"] } };
  assert.deepEqual(rowsOf(nested), [
    "| `field` | list of object |",
    "| `field[].name` | text; required. Of the host. |",
  ]);
});

test("an answer's table says of a field that it can be missing", () => {
  const answer = fieldTable(document, { type: "object", properties: { field: { type: "boolean" } } }, "answer");
  assert.match(answer, /\| `field` \| boolean; can be missing \|$/);
});

test("a body that is a named shape, a list of them, or one of several says so above its table", () => {
  const choice: Schema = { anyOf: [reference, { type: "array", items: reference }] };
  const text = fieldTable(document, choice, "answer");
  assert.match(text, /^\[Host\]\(shapes\.md#Host\):\n\n\| field \| what it is \|/);
  assert.match(text, /\n\nOr:\n\nA list of \[Host\]\(shapes\.md#Host\):\n\n\| field/);
});

test("what a description has is text, but for its code", () => {
  const row = rowsOf({ type: "string", description: "A <b> of {{ this }} *here*, | or `{{ that }}`." })[0]!;
  assert.match(row, /A &#60;b&#62; of &#123;&#123; this &#125;&#125; &#42;here&#42;, \\\| or `\{\{ that \}\}`\./);
});
