import assert from "node:assert/strict";
import { test } from "node:test";
import { allStatements, type RowOf, statement } from "#db/statement.ts";

test("the column map gives the row its type, a question mark makes it nullable", () => {
  const columns = { name: "text", note: "text?", created_at: "timestamptz", tags: "text[]?", total: "int8" } as const;
  const row: RowOf<typeof columns> = { name: "a", note: null, created_at: new Date(0), tags: ["b"], total: 1 };
  // @ts-expect-error a column without a question mark is never null
  row.name = null;
  // @ts-expect-error an int8 is a number
  row.total = "1";
  assert.deepEqual(Object.keys(row), Object.keys(columns));
});

test("refuses a second statement of the same name", () => {
  const first = statement("test-only", "SELECT 1 AS one", { one: "int4" });
  assert.ok(allStatements().includes(first));
  assert.throws(() => statement("test-only", "SELECT 2 AS one", { one: "int4" }), /two statements are named/);
});

test("refuses a name that PostgreSQL would cut off", () => {
  assert.throws(() => statement("n".repeat(64), "SELECT 1", {}), /longer than 63 bytes/);
});
