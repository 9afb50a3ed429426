import assert from "node:assert/strict";
import { test } from "node:test";
import { allStatements, type RowOf, statement, type ValuesOf, valuesInOrder } from "#db/statement.ts";

test("the column map gives the row its type, a question mark makes it nullable", () => {
  const columns = { name: "text", note: "text?", created_at: "timestamptz", tags: "text[]?", total: "int8" } as const;
  const row: RowOf<typeof columns> = { name: "a", note: null, created_at: new Date(0), tags: ["b"], total: 1 };
  // @ts-expect-error a column without a question mark is never null
  row.name = null;
  // @ts-expect-error an int8 is a number
  row.total = "1";
  assert.deepEqual(Object.keys(row), Object.keys(columns));
});

test("a column of known texts has their type", () => {
  const columns = { status: ["Ready", "Failed"], phase: ["look", null] } as const;
  const row: RowOf<typeof columns> = { status: "Ready", phase: null };
  // @ts-expect-error not one of them
  row.status = "Gone";
  assert.deepEqual(Object.keys(row), Object.keys(columns));
});

test("parameters have names, which the compiler knows", () => {
  const read = statement("test-named", "SELECT $b::int4 AS b, $a::text ~ '^x$' AS a WHERE $b > 0", {
    b: "int4",
    a: "bool",
  });
  assert.equal(read.text, "SELECT $1::int4 AS b, $2::text ~ '^x$' AS a WHERE $1 > 0");
  assert.deepEqual(valuesInOrder(read, { a: "x", b: 1 }), [1, "x"]);
  const values: NonNullable<typeof read.values> = { a: "x", b: 1 };
  // @ts-expect-error the other one is missing
  const missing: typeof values = { a: "x" };
  assert.throws(() => valuesInOrder(read, missing), /no value for \$b/);
  // @ts-expect-error there is no such parameter
  const unknown: ValuesOf<"SELECT $a"> = { a: 1, c: 2 };
  assert.ok(unknown);
  assert.throws(() => statement("test-mixed", "SELECT $1, $b", {}), /a parameter without a name/);
});

test("refuses a second statement of the same name", () => {
  const first = statement("test-only", "SELECT 1 AS one", { one: "int4" });
  assert.ok(allStatements().includes(first));
  assert.throws(() => statement("test-only", "SELECT 2 AS one", { one: "int4" }), /two statements are named/);
});

test("refuses a name that PostgreSQL would cut off", () => {
  assert.throws(() => statement("n".repeat(64), "SELECT 1", {}), /longer than 63 bytes/);
});
