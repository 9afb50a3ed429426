import assert from "node:assert/strict";
import { after, test } from "node:test";
import { DatabaseError } from "pg";
import { statement } from "#db/statement.ts";
import { testDatabase } from "../../test/harness/database.ts";

const { database } = await testDatabase({ after });

const reciprocals = statement(
  "test-reciprocals",
  `SELECT item, 1 / number AS reciprocal, pg_current_xact_id()::text AS transaction
   FROM jsonb_to_recordset($items::jsonb) AS asked(item int4, number int4)`,
  { item: "int4", reciprocal: "int4", transaction: "text" },
);
const evens = statement(
  "test-evens",
  `SELECT item, number AS even
   FROM jsonb_to_recordset($items::jsonb) AS asked(item int4, number int4) WHERE number % 2 = 0`,
  { item: "int4", even: "int4" },
);

test("calls at the same moment share one transaction, and each caller gets the rows of its own item", async () => {
  const answers = await Promise.all([1, 2, -1].map((number) => database.batched(reciprocals, { number })));
  assert.deepEqual(
    answers.map(([row]) => row?.reciprocal),
    [1, 0, -1],
  );
  assert.equal(new Set(answers.map(([row]) => row?.transaction)).size, 1);
});

test("a caller whose item has no row gets none, next to others that have one", async () => {
  const answers = await Promise.all([3, 4, 5, 6].map((number) => database.batched(evens, { number })));
  assert.deepEqual(
    answers.map((rows) => rows.map(({ even }) => even)),
    [[], [4], [], [6]],
  );
});

test("an item that the database refuses fails for its caller alone", async () => {
  const answers = await Promise.allSettled([1, 0, 2].map((number) => database.batched(reciprocals, { number })));
  assert.deepEqual(
    answers.map((answer) => (answer.status === "fulfilled" ? answer.value[0]?.reciprocal : answer.reason.code)),
    [1, "22012", 0],
  );
  assert.ok(answers[1]?.status === "rejected" && answers[1].reason instanceof DatabaseError);
});

test("more calls than fit into one batch are all answered, in order", async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => 2 * index);
  const answers = await Promise.all(numbers.map((number) => database.batched(evens, { number })));
  assert.deepEqual(
    answers.map(([row]) => row?.even),
    numbers,
  );
});
